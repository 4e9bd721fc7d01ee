"""Ask a vision-language model within limits: transcripts first, then the network if allowed.

Limits on calls and tokens hold for a whole run and are checked before anything is sent; every
request counts, those that fail and those that are sent again too.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

from phaser.core.errors import BadInput
from phaser.phases.transcripts import Answer, Transcripts
from phaser.phases.vlm_request import Request
from phaser.phases.vlm_server import BusyServer, NoAnswer, SchemaRefused, VlmServer

_LONGEST_PAUSE_S = 60.0


@dataclass(kw_only=True, slots=True)
class Spending:
    """What a run may spend and what it has spent; shared by all its tasks."""

    max_calls: int = 100
    max_tokens: int = 2_000_000
    num_calls: int = 0
    num_tokens: int = 0

    def __post_init__(self) -> None:
        if self.max_calls < 0 or self.max_tokens < 0:
            raise BadInput(
                f"limits of {self.max_calls} calls and {self.max_tokens} tokens; expected 0 or more"
            )

    def reserve(self, estimated_tokens: int) -> None:
        """Count a request about to be sent, or refuse it."""
        if self.num_calls >= self.max_calls:
            raise NoAnswer(f"the limit of {self.max_calls} calls is reached")
        if self.num_tokens + estimated_tokens > self.max_tokens:
            raise NoAnswer(
                f"{self.num_tokens} tokens spent, the next request may cost {estimated_tokens}; "
                f"the limit is {self.max_tokens}"
            )
        self.num_calls += 1
        self.num_tokens += estimated_tokens

    def settle(self, estimated_tokens: int, actual_tokens: int | None) -> None:
        """Replace an estimate by what the server counted, if it counted."""
        if actual_tokens is not None:
            self.num_tokens += actual_tokens - estimated_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Vlm:
    """A model, where its transcripts lie, and what may be spent on it."""

    server: VlmServer
    transcripts: Transcripts
    spending: Spending = field(default_factory=Spending)
    offline: bool = False
    """Answer from transcripts only; no connection is opened."""
    max_retries: int = 3
    first_pause_s: float = 1.0

    def ask(self, request: Request) -> Answer:
        """The answer from the transcripts, else from the server; kept before it is used."""
        known = self.transcripts.find(request)
        if known is not None:
            return known
        if self.offline:
            raise NoAnswer(f"offline, and no transcript {self.transcripts.path(request).name}")
        answer = self._ask_server(request)
        self.transcripts.keep(request, answer)
        return answer

    def _ask_server(self, request: Request) -> Answer:
        schema, num_retries = True, 0
        while True:
            try:
                return self._send(request, schema=schema)
            except SchemaRefused:
                schema = False
            except BusyServer as error:
                if num_retries == self.max_retries:
                    raise
                time.sleep(self._pause_s(num_retries, error.retry_after_s))
                num_retries += 1

    def _send(self, request: Request, *, schema: bool) -> Answer:
        estimate = request.estimated_tokens()
        self.spending.reserve(estimate)
        try:
            answer = self.server.send(request, schema=schema)
        except NoAnswer as error:
            if not error.may_be_billed:
                self.spending.settle(estimate, 0)
            raise
        self.spending.settle(estimate, answer.num_tokens)
        return answer

    def _pause_s(self, num_retries: int, retry_after_s: float | None) -> float:
        """Doubling, with jitter so that many clients do not return together; bounded."""
        doubled = self.first_pause_s * float(2**num_retries)
        wanted = doubled if retry_after_s is None else max(doubled, retry_after_s)
        return min(wanted, _LONGEST_PAUSE_S) * random.uniform(0.5, 1.0)
