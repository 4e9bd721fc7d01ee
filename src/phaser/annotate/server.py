"""The server on this machine's own address; nobody else can reach it."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

from phaser.annotate.guard import Guard
from phaser.annotate.service import Service
from phaser.core.errors import BadInput

LOOPBACK = "127.0.0.1"


def serve(service: Service, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve the page until the process is interrupted.

    Args:
        service: what the page shows and changes.
        port: of the loopback address; 0 takes a free one.
        ready: told the address, token included, when the page can be opened.
    """
    import uvicorn

    from phaser.annotate.app import make_app

    with _bound(port) as listening:
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        app = Guard(make_app(service), token=token, port=port)
        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        ready(f"http://{LOOPBACK}:{port}/?token={token}")
        uvicorn.Server(config).run(sockets=[listening])


def _bound(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise BadInput(
            f"port {port} cannot be used: {error.strerror}; choose another with --port"
        ) from error
    return listening
