"""One request to an OpenAI-compatible server, whatever the server does.

The only file that imports `openai`. The key comes from the environment when a request is sent, goes
to the given address only, and is struck out of everything that comes back. Answers are bounded in
size and time, redirects are refused, and every fault leaves as one of four errors.
"""

from __future__ import annotations

import ipaddress
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from phaser.core.errors import BadInput, MissingDependency, PhaserError
from phaser.phases.transcripts import Answer
from phaser.phases.vlm_request import Request, answer_schema

KEY_VARIABLE = "PHASER_VLM_KEY"
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
MAX_ANSWER_BYTES = 1 << 20
_MAX_COMPLAINT_BYTES = 2000
_STRUCK_OUT = "[key]"
_NO_KEY = "none"
_SHORTEST_SECRET = 8
_TRY_AGAIN = {408, 409, 425, 429}
_WRONG_SETTINGS = {401, 403, 404}
_SCHEMA_REFUSED = {400, 422}
_NOT_CONNECTED = {"ConnectError", "ConnectTimeout"}
"""What the client's transport calls a connection that never came about."""


class NoAnswer(PhaserError):
    """The server gave nothing usable; asking it again is no use."""

    may_be_billed = True
    """Whether the server may have worked for it; not when it turned the request away."""


class BusyServer(NoAnswer):
    """The server is overloaded, out of reach or late; the same request may succeed later."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unreachable(PhaserError):
    """No server listens at the address; no task can be verified until one does."""

    exit_code = 3


class SchemaRefused(NoAnswer):
    """The server does not take this form of request, perhaps because of the JSON Schema."""


class _Stopped(Exception):
    """Raised while an answer arrives; some versions of the client wrap it, some do not."""


class _Refused(_Stopped):
    """Any status but 200, so that the body of a fault is never read as an answer."""

    def __init__(self, status: int, complaint: str, retry_after: str | None) -> None:
        super().__init__(f"status {status}")
        self.status, self.complaint, self.retry_after = status, complaint, retry_after


class _TooLong(_Stopped):
    pass


class _Late(_Stopped):
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class VlmServer:
    """Where a model is served: OpenAI, vLLM, Ollama, LM Studio and others alike."""

    url: str
    """For instance https://api.openai.com/v1 or http://localhost:11434/v1."""
    model: str
    timeout_s: float = 120.0
    temperature: float | None = 0.0
    """None leaves it out, for models that take no other than their own."""
    answer_limit_field: str = "max_tokens"
    """Some models want "max_completion_tokens" instead."""

    def __post_init__(self) -> None:
        parts = _split(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput(f"server address {self.url!r}; expected http(s)://host/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            # Not repeated in the message: it may hold a password.
            raise BadInput(
                f"the server address holds a user, a password or a query; give the key in "
                f"{KEY_VARIABLE} and the bare address"
            )
        if not self.model or self.timeout_s <= 0:
            raise BadInput(f"model {self.model!r}, time-out {self.timeout_s} s; expected both")

    def send(self, request: Request, *, schema: bool) -> Answer:
        """The answer, or BusyServer, SchemaRefused, Unreachable or NoAnswer."""
        outcome = self._exchanged(request, schema=schema)
        if isinstance(outcome, PhaserError):
            raise outcome
        return outcome

    def _exchanged(self, request: Request, *, schema: bool) -> Answer | PhaserError:
        """Faults are returned, not raised: no traceback holds this frame, where the key is."""
        openai = _openai()
        messages = request.messages()
        key = _key(_split(self.url))
        received = bytearray()
        deadline = time.monotonic() + self.timeout_s
        options: dict[str, Any] = {self.answer_limit_field: request.max_answer_tokens}
        if self.temperature is not None:
            options["temperature"] = self.temperature
        if schema:
            form = {"name": "phases", "strict": True, "schema": answer_schema()}
            options["response_format"] = {"type": "json_schema", "json_schema": form}
        # The body is read by the hook: bounded, in time, and any fault becomes the client's own.
        hooks = {"response": [_reader(received, key, deadline)]}
        transport = openai.DefaultHttpxClient(follow_redirects=False, event_hooks=hooks)
        try:
            with (
                openai.OpenAI(
                    api_key=key,
                    base_url=self.url,
                    max_retries=0,
                    timeout=self.timeout_s,
                    http_client=transport,
                ) as client,
                client.chat.completions.with_streaming_response.create(
                    model=self.model,
                    messages=messages,
                    extra_headers={"Accept-Encoding": "identity"},
                    **options,
                ),
            ):
                pass
        except _Stopped as error:
            return _explained(error, self, schema=schema)
        except openai.APIConnectionError as error:
            return _explained(error.__cause__, self, schema=schema)
        except openai.OpenAIError as error:
            return NoAnswer(f"the client refused the request ({type(error).__name__})")
        return _answer(bytes(received), self, key)


def _openai() -> Any:
    try:
        import openai
    except ImportError as error:
        raise MissingDependency(
            "verification needs openai; run: pip install 'phaser-vla[vlm]', or verify with none"
        ) from error
    return openai


def _key(parts: SplitResult) -> str:
    """The key for this address; OpenAI's own key goes to OpenAI only."""
    host = (parts.hostname or "").lower()
    at_openai = host == "openai.com" or host.endswith(".openai.com")
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key and at_openai and parts.scheme == "https":
        key = os.environ.get(OPENAI_KEY_VARIABLE, "").strip()
    if not key:
        if at_openai:
            raise BadInput(f"no key for {host}; set {KEY_VARIABLE} or {OPENAI_KEY_VARIABLE}")
        return _NO_KEY
    if key.isascii() and key.isprintable() and (parts.scheme == "https" or _is_near(host)):
        return key
    usable = key.isascii() and key.isprintable()
    del key
    if usable:
        raise BadInput(f"{host} is not local; a key is sent over https only: change the address")
    raise BadInput(f"{KEY_VARIABLE} holds characters that no key has; set it again")


def _is_near(host: str) -> bool:
    """This machine or the local network, where plain http is usual."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal"))
    return address.is_loopback or address.is_private


def _reader(received: bytearray, key: str, deadline: float) -> Callable[[Any], None]:
    def read(response: Any) -> None:
        if response.status_code != 200:
            complaint = bytearray()
            for chunk in response.iter_raw():
                complaint += chunk
                if len(complaint) > _MAX_COMPLAINT_BYTES or time.monotonic() > deadline:
                    break
            text = _complaint(bytes(complaint[:_MAX_COMPLAINT_BYTES]), key)
            raise _Refused(response.status_code, text, response.headers.get("retry-after"))
        if response.headers.get("content-encoding", "identity") != "identity":
            # We asked for none; unpacking would let a small answer fill the memory.
            raise _TooLong
        for chunk in response.iter_raw():
            received.extend(chunk)
            if len(received) > MAX_ANSWER_BYTES:
                raise _TooLong
            if time.monotonic() > deadline:
                raise _Late

    return read


def _turned_away(error: NoAnswer) -> NoAnswer:
    error.may_be_billed = False
    return error


def _explained(cause: BaseException | None, server: VlmServer, *, schema: bool) -> PhaserError:
    where = f"{server.model!r} at {_split(server.url).hostname}"
    if isinstance(cause, _TooLong):
        return NoAnswer(f"{where} sent more than {MAX_ANSWER_BYTES} bytes, or packed ones")
    if type(cause).__name__ in _NOT_CONNECTED:
        return Unreachable(
            f"{where} cannot be reached ({server.url}); start the server or mend the address "
            "(--vlm-url), then call the same again: answers so far are kept"
        )
    if not isinstance(cause, _Refused):
        late = isinstance(cause, _Late) or "Timeout" in type(cause).__name__
        what = f"took over {server.timeout_s:g} s" if late else "cannot be reached or broke off"
        return BusyServer(f"{where} {what}")
    said = f"{where} answered {cause.status}{cause.complaint}"
    if cause.status in _WRONG_SETTINGS:
        return BadInput(f"{said}; check {KEY_VARIABLE}, the model's name and the address")
    if cause.status in _SCHEMA_REFUSED and schema:
        return _turned_away(SchemaRefused(said))
    if 300 <= cause.status < 400:
        return NoAnswer(f"{where} redirects to another address; it is not followed with a key")
    if cause.status in _TRY_AGAIN or cause.status >= 500:
        return _turned_away(BusyServer(said, retry_after_s=_seconds(cause.retry_after)))
    return NoAnswer(said)


def _complaint(content: bytes, key: str) -> str:
    """What the server says about a fault, short and harmless, or nothing."""
    text = content.decode("utf-8", "replace")
    try:
        text = str(json.loads(text)["error"]["message"])
    except (ValueError, RecursionError, KeyError, TypeError, IndexError):
        return ""
    shown = "".join(one if one.isprintable() else " " for one in _struck_out(text, key))
    return f" ({shown[:200]})"


def _answer(body: bytes, server: VlmServer, key: str) -> Answer | NoAnswer:
    try:
        content = json.loads(body.decode("utf-8", "replace"))
        message = content["choices"][0]["message"]["content"]
    except (ValueError, RecursionError, KeyError, TypeError, IndexError):
        where = f"{server.model!r} at {_split(server.url).hostname}"
        return NoAnswer(f"{where} sent no chat completion")
    usage = content.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    counted = isinstance(tokens, int) and not isinstance(tokens, bool) and 0 < tokens < 2**31
    # A server may send the key back; it must not reach the transcripts.
    text = _struck_out(message, key) if isinstance(message, str) else ""
    # Half a surrogate pair can be written in JSON but in no file and no later request.
    harmless = text.encode("utf-8", "backslashreplace").decode()
    return Answer(text=harmless, num_tokens=tokens if counted else None, server=server.url)


def _struck_out(text: str, key: str) -> str:
    # Local servers take any word for a key; a short one occurs in answers by itself.
    return text.replace(key, _STRUCK_OUT) if len(key) >= _SHORTEST_SECRET else text


def _seconds(retry_after: str | None) -> float | None:
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise BadInput("the server address is no address; expected http(s)://host/v1") from error
