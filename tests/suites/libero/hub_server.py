"""A hub on loopback, over real HTTP: listings with digests, redirects, ranges, and its bad days."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee00" * 5
LARGE = 1000
"""Files from this size on are declared with their SHA-256, as those in large-file storage are."""


class Hub:
    """The server's repositories, its faults, and a log of all requests."""

    def __init__(self, repositories: dict[str, dict[str, bytes]]) -> None:
        self.repositories = repositories
        self.url = self.other_url = ""
        self.sent_instead: dict[str, bytes] = {}
        """Content of a path that is not what the listing declares."""
        self.listed_as: dict[str, str] = {}
        """Paths that the listing calls otherwise."""
        self.cut_at: int | None = None
        """Bytes of one answer after which the connection breaks."""
        self.cut_times = 10**9
        self.refusals: list[int] = []
        """Status codes that the next requests for files are answered with."""
        self.ranges = True
        self.listing: bytes | None = None
        self.drip_s = 0.0
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.stopped = threading.Event()

    def files_asked(self) -> list[tuple[str, int]]:
        """Path and first byte of every request for a file."""
        return [
            (path.split("/resolve/")[1].split("/", 1)[1], _start(headers))
            for _, path, headers in self.asked
            if "/resolve/" in path
        ]

    def listing_of(self, name: str) -> bytes:
        siblings = []
        for path, content in self.repositories[name].items():
            entry: dict[str, object] = {"rfilename": self.listed_as.get(path, path)}
            entry |= {"size": len(content), "blobId": blob_id(content)}
            if len(content) >= LARGE:
                digest = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"size": len(content), "sha256": digest, "pointerSize": 130}
            siblings.append(entry)
        return json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}).encode()


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _start(headers: dict[str, str]) -> int:
    return int(headers.get("range", "bytes=0-").removeprefix("bytes=").split("-")[0])


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.hub.asked.append((headers["host"], path, headers))
        if path.startswith("/api/datasets/"):
            self._list(path)
        elif "/resolve/" in path:
            self._resolve(path)
        elif path.startswith("/stored/"):
            self._send_content(path.removeprefix("/stored/"))
        else:
            self._send(404, b"")

    def _list(self, path: str) -> None:
        name, _, revision = path.removeprefix("/api/datasets/").partition("/revision/")
        if name not in self.hub.repositories:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif revision == "gone":
            self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        else:
            listing = self.hub.listing
            self._send(200, self.hub.listing_of(name) if listing is None else listing)

    def _resolve(self, path: str) -> None:
        name, _, rest = path.removeprefix("/datasets/").partition("/resolve/")
        file = rest.partition("/")[2]
        if self.hub.refusals:
            self._send(self.hub.refusals.pop(0), b"{}")
        elif len(self.hub.repositories[name].get(file, b"")) >= LARGE:
            # Large files are elsewhere: another host, to which no token may be sent.
            location = f"{self.hub.other_url}/stored/{name}/{file}"
            self._send(302, b"", {"Location": location})
        else:
            self._send_content(f"{name}/{file}")

    def _send_content(self, place: str) -> None:
        owner, name, file = place.split("/", 2)
        content = self.hub.repositories[f"{owner}/{name}"].get(file)
        if content is None:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        content = self.hub.sent_instead.get(file, content)
        start = _start({"range": self.headers.get("range", "bytes=0-")})
        if start and self.hub.ranges:
            words = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
            self._send(206, content[start:], words)
        else:
            self._send(200, content)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        hub = self.hub
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        cut = status in (200, 206) and "/api/" not in self.path and hub.cut_at is not None
        if cut and hub.cut_times > 0 and len(body) > (hub.cut_at or 0):
            hub.cut_times -= 1
            self.wfile.write(body[: hub.cut_at])
            self.close_connection = True
            return
        try:
            for begin in range(0, len(body), 1 << 16):
                self.wfile.write(body[begin : begin + (1 << 16)])
                hub.stopped.wait(hub.drip_s)
        except OSError:
            # The client hung up, or was killed.
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(repositories: dict[str, dict[str, bytes]]) -> Iterator[Hub]:
    hub = Hub(repositories)
    handler = type("Handler", (_Handler,), {"hub": hub})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    port = http.server_address[1]
    hub.url, hub.other_url = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        hub.stopped.set()
        http.shutdown()
        thread.join()
        http.server_close()
