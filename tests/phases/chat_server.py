"""A local server that speaks chat completions over real HTTP, well or badly."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Reply:
    """What to send back to one request; by default a well-formed completion."""

    def __init__(
        self, text="", *, status=200, headers=None, body=None, wait_s=0.0, drip_s=0.0, usage=1234
    ):
        completion = {
            "id": "1",
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {"total_tokens": usage},
        }
        self.status, self.headers = status, headers or {}
        self.wait_s, self.drip_s = wait_s, drip_s
        self.body = json.dumps(completion).encode() if body is None else body


class ChatServer:
    """Replies in order, the last one again and again; remembers what it was asked."""

    def __init__(self, replies, url):
        self.replies, self.url = list(replies), url
        self.requests, self.headers, self.sent_paths = [], [], []

    def next_reply(self):
        return self.replies[min(len(self.requests), len(self.replies)) - 1]


@contextmanager
def serving(*replies):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content = self.rfile.read(int(self.headers["content-length"]))
            server.requests.append(json.loads(content))
            server.headers.append({k.lower(): v for k, v in self.headers.items()})
            server.sent_paths.append(self.path)
            reply = server.next_reply()
            if callable(reply):
                reply = reply(server)
            stopped.wait(reply.wait_s)
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                if reply.drip_s:
                    for byte in reply.body:
                        self.wfile.write(bytes([byte]))
                        stopped.wait(reply.drip_s)
                else:
                    self.wfile.write(reply.body)
            except OSError:
                # The client hung up, as it should on answers without end.
                self.close_connection = True

        def log_message(self, *_):
            pass

    stopped = threading.Event()
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = ChatServer(replies, f"http://127.0.0.1:{http.server_address[1]}/v1")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        stopped.set()
        http.shutdown()
        thread.join()
        http.server_close()
