"""Who may talk to the server: this machine's browser, on this page, with the token of this start.

Every request must name the server as its host, which a page that points its own name at this
machine does not. The token comes once, in the address that the command prints, and is a cookie
from then on. Requests that change something must also come from the page itself.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
READING = ("GET", "HEAD")


class Guard:
    """Answers what must not pass itself, and gives the rest to the application."""

    def __init__(self, app: App, *, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"phaser_annotate_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # No web sockets; the server's own start and stop pass.
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = _headers(scope)
        host = headers.get("host", "")
        if host not in self._hosts:
            await _answer(send, 403, "this server has another name")
        elif scope["method"] not in READING and headers.get("origin") != f"http://{host}":
            await _answer(send, 403, "only the page itself may change anything")
        elif self._is_token(_cookies(headers.get("cookie", "")).get(self._cookie, "")):
            await self._app(scope, receive, _with_headers(send))
        elif scope["path"] == "/" and self._is_token(_asked(scope).get("token", "")):
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            # The token leaves the address, so that it is in no history and no screenshot.
            await _answer(send, 303, "", {"set-cookie": cookie, "location": "/"})
        else:
            await _answer(send, 403, "wrong or missing token; open the address that was printed")

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())


def _headers(scope: Scope) -> dict[str, str]:
    return {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
    }


def _asked(scope: Scope) -> dict[str, str]:
    found = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return {name: values[0] for name, values in found.items()}


def _cookies(text: str) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in text.split(";"))
    return {name: value for name, _, value in pairs}


def _with_headers(send: Send) -> Send:
    added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, text: str, more: dict[str, str] | None = None) -> None:
    headers = {"content-type": "text/plain; charset=utf-8", "cache-control": "no-store"}
    headers |= HEADERS | (more or {})
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await send(start)
    await send({"type": "http.response.body", "body": text.encode()})
