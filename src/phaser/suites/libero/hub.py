"""Listings and bytes from a hub, through huggingface_hub; what goes wrong is one line.

The address is HF_ENDPOINT, else huggingface_hub's own. Proxies, certificates and a token, where the
user has set them, are those of huggingface_hub.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from phaser import __version__
from phaser.core.errors import BadInput, BrokenFile, MissingDependency, PhaserError
from phaser.suites.libero.digests import Digest
from phaser.suites.libero.listing import HubFile, Listing, Repository, checked_listing

EXTRA = "pip install 'phaser-vla[libero-fetch]'"
TIMEOUT_S = 10.0
PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Status codes after which the same request may succeed later."""
INSTEAD = "or give a folder that has the files: --from FOLDER"


class NoConnection(PhaserError):
    """A hub that cannot be reached, or that refuses."""


class Interrupted(NoConnection):
    """A connection that broke; the same request may go on where it ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The bytes of a file, from `start` on."""

    start: int
    blocks: Iterator[bytes]


def listing(repository: Repository) -> Listing:
    """All files of a repository, with sizes and digests, in one request."""
    hub = _library()
    api = hub.HfApi(endpoint=_endpoint(), library_name="phaser", library_version=__version__)
    with _explained(repository):
        try:
            found = api.dataset_info(
                repository.name,
                revision=repository.revision,
                files_metadata=True,
                timeout=TIMEOUT_S,
            )
            files = [_file(one) for one in found.siblings or ()]
            return checked_listing(_commit(found.sha), files)
        except hub.errors.HfHubHTTPError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError, BadInput) as error:
            raise BrokenFile(
                f"{address()} sent no listing of {repository.name} that makes sense ({error}); "
                f"nothing was fetched: check HF_ENDPOINT and the revision, {INSTEAD}"
            ) from error


@contextmanager
def reading(repository: Repository, *, commit: str, path: str, start: int) -> Iterator[Answer]:
    """Ask for a file from a byte on; the answer says from which byte on the server sends it.

    repository: holds the file.
    commit: the version of the repository, as its listing says.
    path: of the file in the repository.
    start: the first byte that is wanted; a server that knows no ranges sends from byte 0.
    A connection that breaks, also while the bytes are read, raises Interrupted.
    """
    hub = _library()
    url = hub.hf_hub_url(
        repository.name, path, repo_type="dataset", revision=commit, endpoint=_endpoint()
    )
    headers = hub.utils.build_hf_headers(library_name="phaser", library_version=__version__)
    headers["accept-encoding"] = "identity"
    if start:
        headers["range"] = f"bytes={start}-"
    with (
        _explained(repository),
        _session().stream(
            "GET", url, headers=headers, timeout=TIMEOUT_S, follow_redirects=True
        ) as response,
    ):
        if response.status_code in PASSING:
            raise Interrupted(_refused(repository, response.status_code))
        if response.status_code not in (200, 206):
            raise NoConnection(_refused(repository, response.status_code))
        sent_from = _first_byte(response) if response.status_code == 206 else 0
        yield Answer(start=sent_from, blocks=response.iter_bytes())


def address() -> str:
    """The address of the hub."""
    return _endpoint() or str(_library().constants.ENDPOINT)


def _endpoint() -> str | None:
    return (os.environ.get("HF_ENDPOINT") or "").rstrip("/") or None


def _library() -> Any:
    """Import huggingface_hub, unless told otherwise without its telemetry.

    With it, the first request asks for a list of programs to report and stores that at home.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        hub = importlib.import_module("huggingface_hub")
        for part in ("constants", "errors", "utils"):
            importlib.import_module(f"huggingface_hub.{part}")
    except ImportError as error:
        raise MissingDependency(
            f"huggingface_hub is not installed; run: {EXTRA}, {INSTEAD}"
        ) from error
    return hub


def _session() -> Any:
    """The HTTP client that huggingface_hub keeps; it reads the user's proxies when it is made."""
    try:
        return _library().get_session()
    except (ImportError, ValueError) as error:
        raise NoConnection(
            f"the proxy of this machine cannot be used ({error}); "
            f"correct HTTPS_PROXY or ALL_PROXY, {INSTEAD}"
        ) from error


def _file(declared: Any) -> HubFile:
    """Large files are declared with their SHA-256, small ones with the name of their git blob."""
    large = declared.lfs
    digest = (
        Digest(kind="git SHA-1", value=str(declared.blob_id))
        if large is None
        else Digest(kind="SHA-256", value=str(large.sha256))
    )
    size = declared.size if large is None else large.size
    return HubFile(path=str(declared.rfilename), size=size, digest=digest)


def _commit(found: object) -> str:
    return Digest(kind="git SHA-1", value=str(found)).value


def _first_byte(response: Any) -> int:
    """The start in `Content-Range: bytes START-STOP/SIZE`; a server without it sends anything."""
    words = response.headers.get("content-range", "").removeprefix("bytes ").split("-")
    if not words[0].isdecimal():
        raise Interrupted(f"{address()} sends a part of a file and does not say which")
    return int(words[0])


def _refused(repository: Repository, status: int) -> str:
    return (
        f"{address()} refuses {repository.name} (answer {status}); "
        f"run the same command later, {INSTEAD}"
    )


@contextmanager
def _explained(repository: Repository) -> Iterator[None]:
    """Turn what huggingface_hub and its HTTP library raise into one line."""
    hub = _library()
    # httpx up to huggingface_hub 1, httpx2 since: the client knows which it is from.
    http = importlib.import_module(type(_session()).__module__.partition(".")[0])
    try:
        yield
    except PhaserError:
        raise
    except hub.errors.OfflineModeIsEnabled as error:
        raise NoConnection(f"HF_HUB_OFFLINE forbids to ask a hub; unset it, {INSTEAD}") from error
    except (hub.errors.RepositoryNotFoundError, hub.errors.RevisionNotFoundError) as error:
        raise BadInput(
            f"{address()} has no revision {repository.revision!r} of {repository.name} "
            f"for you; name another, {INSTEAD}"
        ) from error
    except hub.errors.HfHubHTTPError as error:
        raise NoConnection(_refused(repository, error.response.status_code)) from error
    except (http.HTTPError, http.InvalidURL, http.StreamError) as error:
        reason = str(error) or type(error).__name__
        raise Interrupted(
            f"cannot reach {address()} ({reason}); check the network and run the same command "
            f"again, {INSTEAD}"
        ) from error
