"""The addresses of the server: one page, its parts, and what the page asks for.

Everything is found by number, so no text of a request ever becomes a path. FastAPI is imported
here only.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

from fastapi import Body, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from phaser.annotate.edits import Edit
from phaser.annotate.opinion import NoOpinion
from phaser.annotate.service import NotThere, Service
from phaser.annotate.workspace import Conflict
from phaser.core.errors import BadInput, PhaserError

PAGE = {
    "": ("index.html", "text/html; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
    "app.css": ("app.css", "text/css; charset=utf-8"),
    "app.js": ("app.js", "text/javascript; charset=utf-8"),
    "player.js": ("player.js", "text/javascript; charset=utf-8"),
    "timeline.js": ("timeline.js", "text/javascript; charset=utf-8"),
    "keys.js": ("keys.js", "text/javascript; charset=utf-8"),
    "server.js": ("server.js", "text/javascript; charset=utf-8"),
    "beside.js": ("beside.js", "text/javascript; charset=utf-8"),
    "opinion.js": ("opinion.js", "text/javascript; charset=utf-8"),
}
"""Addresses and the files that they give; nothing else is read from the disk by name."""
_RANGE = re.compile(r"bytes=(\d{0,12})-(\d{0,12})")


def make_app(service: Service) -> FastAPI:
    """The application over a service; `Guard` goes around it."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _add_errors(app)
    _add_page(app)
    _add_reading(app, service)
    _add_writing(app, service)
    _add_aids(app, service)
    return app


def _add_page(app: FastAPI) -> None:
    folder = resources.files("phaser.annotate") / "page"
    parts = {name: ((folder / file).read_bytes(), kind) for name, (file, kind) in PAGE.items()}

    def page(name: str) -> Any:
        content, kind = parts[name]
        return lambda: Response(content, media_type=kind, headers={"cache-control": "no-store"})

    for name in parts:
        app.add_api_route(f"/{name}", page(name), methods=["GET"])


def _add_reading(app: FastAPI, service: Service) -> None:
    @app.get("/api/tasks")
    def overview() -> Response:
        return _json(service.overview())

    @app.get("/api/tasks/{task:int}")
    def task(task: int) -> Response:
        return _json(service.task(task))

    @app.get("/api/tasks/{task:int}/episodes/{episode:int}")
    def episode(task: int, episode: int) -> Response:
        return _json(service.episode(task, episode))

    @app.get("/media/{task:int}/{episode:int}/{camera:int}/{sheet:int}")
    def media(request: Request, task: int, episode: int, camera: int, sheet: int) -> Response:
        content = service.sheet(task, episode, camera, sheet)
        return ranged(content, request.headers.get("range"))


def _add_writing(app: FastAPI, service: Service) -> None:
    @app.post("/api/tasks/{task:int}/edits")
    def edit(task: int, body: dict[str, Any] = Body()) -> Response:  # noqa: B008
        return _json(service.edit(task, _edit(body)))

    @app.post("/api/tasks/{task:int}/proposal")
    def propose(task: int, body: dict[str, Any] = Body()) -> Response:  # noqa: B008
        return _json(service.propose(task, version=_version(body)))

    @app.post("/api/tasks/{task:int}/undo")
    def undo(task: int, body: dict[str, Any] = Body()) -> Response:  # noqa: B008
        return _json(service.undo(task, version=_version(body)))

    @app.post("/api/tasks/{task:int}/redo")
    def redo(task: int, body: dict[str, Any] = Body()) -> Response:  # noqa: B008
        return _json(service.redo(task, version=_version(body)))


def _add_aids(app: FastAPI, service: Service) -> None:
    @app.post("/api/tasks/{task:int}/beside")
    def take_over(task: int, body: dict[str, Any] = Body()) -> Response:  # noqa: B008
        return _json(service.take_over(task, _edit(body)))

    @app.post("/api/tasks/{task:int}/opinion")
    def ask_model(task: int, body: dict[str, Any] = Body()) -> Response:  # noqa: B008
        return _json(service.ask_model(task, _edit(body).episode))

    @app.post("/api/tasks/{task:int}/decisions")
    def decide(task: int, body: dict[str, Any] = Body()) -> Response:  # noqa: B008
        return _json(service.decide(task, _edit(body)))

    @app.post("/api/lerobot")
    def write_lerobot() -> Response:
        return _json(service.write_lerobot())


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(PhaserError)
    def refused(request: Request, error: PhaserError) -> Response:
        kinds = ((NotThere, 404), (Conflict, 409), (BadInput, 400), (NoOpinion, 502))
        status = next((code for kind, code in kinds if isinstance(error, kind)), 500)
        return _json({"error": " ".join(str(error).split())}, status)

    @app.exception_handler(RequestValidationError)
    def not_understood(request: Request, error: RequestValidationError) -> Response:
        return _json({"error": "the request is no JSON object"}, 400)


def ranged(content: bytes, asked: str | None) -> Response:
    """A picture, or the one range of its bytes that was asked for."""
    headers = {"accept-ranges": "bytes", "cache-control": "private, max-age=3600"}
    found = _RANGE.fullmatch(asked.strip()) if asked else None
    if found is None or not (found[1] or found[2]):
        return Response(content, media_type="image/jpeg", headers=headers)
    total = len(content)
    if found[1]:
        start, stop = int(found[1]), min(int(found[2] or total), total - 1) + 1
    else:
        start, stop = max(total - int(found[2]), 0), total
    if start >= stop:
        return Response(status_code=416, headers={**headers, "content-range": f"bytes */{total}"})
    headers["content-range"] = f"bytes {start}-{stop - 1}/{total}"
    return Response(content[start:stop], 206, headers, media_type="image/jpeg")


def _json(value: Any, status: int = 200) -> Response:
    return JSONResponse(value, status, headers={"cache-control": "no-store"})


def _version(body: dict[str, Any]) -> int:
    value = body.get("version")
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadInput("the request lacks the version of the task that it changes")
    return value


def _edit(body: dict[str, Any]) -> Edit:
    kinds: dict[str, type | tuple[type, ...]] = {
        "do": str,
        "episode": int,
        "version": int,
        "seconds": (int, float),
        "step": int,
        "to": int,
        "phase": int,
        "name": str,
    }
    for name, value in body.items():
        if name not in kinds or isinstance(value, bool) or not isinstance(value, kinds[name]):
            raise BadInput(f"an edit cannot have {name[:40]!r} of {str(value)[:40]!r}")
    if not {"do", "episode"} <= body.keys():
        raise BadInput("an edit needs what to do and in which demonstration")
    _version(body)
    return Edit(**body)
