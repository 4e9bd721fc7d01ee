"""Check the answer of a vision-language model before any of it is used (paper, appendix Auto-PC).

The answer is untrusted text. Either all of it follows the rules, or the caller gets the list of
violations; nothing is repaired. The boundaries are the accepted, relocated and inserted steps
themselves; the ratios of the phases must agree with them and carry no information of their own.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from phaser.phases.candidates import Candidate
from phaser.phases.untrusted_text import MAX_QUOTED, one_line, quoted

VERBS = (
    "approach",
    "grasp",
    "transport",
    "release",
    "insert",
    "push",
    "pull",
    "open",
    "close",
    "turn",
)
_NAME = re.compile(r"[a-z]+(_[a-z0-9]+)+")
_RATIO_SLACK = 0.01 + 1e-9
_MAX_VIOLATIONS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerRules:
    """What an answer must obey; the numbers are the paper's, but for the shortest phase."""

    max_shift: int = 10
    max_inserted: int = 2
    min_phases: int = 2
    max_phases: int = 5
    max_name: int = 25
    min_phase_frames: int = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Boundary:
    """A verified beginning of a phase: where, from what, and on which evidence."""

    step: int
    origin: Literal["accepted", "relocated", "inserted"]
    evidence: frozenset[str]
    reason: str
    candidate: int | None = None
    """The step of the candidate that the model judged; None for an inserted boundary."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejection:
    """A candidate at which no phase begins, as the model sees it."""

    step: int
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """A valid answer: one name more than boundaries."""

    names: tuple[str, ...]
    boundaries: tuple[Boundary, ...]
    num_rejected: int
    rejections: tuple[Rejection, ...] = ()


@dataclass(frozen=True, slots=True)
class Violations:
    """Why an answer cannot be used, one sentence each."""

    sentences: tuple[str, ...]


def check_answer(
    text: str, *, candidates: Sequence[Candidate], num_frames: int, rules: AnswerRules
) -> Verdict | Violations:
    """The verdict, or every rule that the text breaks."""
    content = _parsed(text)
    if isinstance(content, Violations):
        return content
    check = _Check(num_frames=num_frames, rules=rules, found=[])
    parts = check.fields(
        content, {"decisions": list, "vlm_inserted": list, "phases": list}, "answer"
    )
    if parts is None:
        return Violations(tuple(check.found))
    kept = check.decisions(parts["decisions"], candidates)
    kept += check.inserted(parts["vlm_inserted"])
    kept.sort(key=lambda one: one.step)
    names, edges = check.phases(parts["phases"])
    if not check.found:
        # Only an answer whose parts are sound can be asked whether they fit together.
        check.spacing(kept)
        check.agreement(kept, edges)
    if check.found:
        return Violations(tuple(check.found[:_MAX_VIOLATIONS]))
    num_rejected = len(candidates) - sum(one.origin != "inserted" for one in kept)
    return Verdict(
        names=tuple(names),
        boundaries=tuple(kept),
        num_rejected=num_rejected,
        rejections=tuple(check.rejected),
    )


@dataclass(frozen=True, slots=True)
class _Check:
    num_frames: int
    rules: AnswerRules
    found: list[str]
    rejected: list[Rejection] = field(default_factory=list)

    def fields(self, entry: Any, kinds: dict[str, type], where: str) -> dict[str, Any] | None:
        """The entry, when it is an object with exactly these fields."""
        if not isinstance(entry, dict) or set(entry) != set(kinds):
            self.found.append(f"{where} is {quoted(entry)}; expected fields {sorted(kinds)}")
            return None
        wrong = [name for name, kind in kinds.items() if not isinstance(entry[name], kind)]
        if wrong:
            self.found.append(f"{where}: {wrong[0]!r} is {quoted(entry[wrong[0]])}")
            return None
        return entry

    def decisions(self, entries: list[Any], candidates: Sequence[Candidate]) -> list[Boundary]:
        known = {f"C{number}": one for number, one in enumerate(candidates, start=1)}
        kinds: dict[str, type] = {"id": str, "action": str, "new_t": object, "reason": str}
        valid = [self.fields(entry, kinds, "decision") for entry in entries[:_MAX_VIOLATIONS]]
        decisions = [entry for entry in valid if entry is not None]
        counts = Counter(entry["id"] for entry in decisions)
        if len(entries) != len(known) or any(counts[name] != 1 for name in known):
            self.found.append(
                f"{len(entries)} decisions on {quoted(sorted(counts))}; "
                f"expected exactly one on each of {sorted(known)}"
            )
        kept = []
        for entry in decisions:
            candidate = known.get(entry["id"])
            if candidate is not None:
                kept += self._decided(entry, candidate)
        return kept

    def _decided(self, entry: dict[str, Any], candidate: Candidate) -> list[Boundary]:
        where, action, new = f"decision {entry['id']}", entry["action"], entry["new_t"]
        if action not in ("accept", "relocate", "reject"):
            self.found.append(
                f"{where}: action {quoted(action)}; expected accept, relocate or reject"
            )
            return []
        if action != "relocate":
            if new is not None and new != candidate.step:
                self.found.append(f"{where}: new_t {quoted(new)} with {action!r}; expected null")
            step = candidate.step
        elif not self._is_step(new) or abs(new - candidate.step) > self.rules.max_shift:
            self.found.append(
                f"{where}: new_t {quoted(new)}; expected a whole step inside the demonstration, "
                f"at most {self.rules.max_shift} from {candidate.step}"
            )
            return []
        else:
            step = new
        reason = one_line(entry["reason"])
        if action == "reject":
            self.rejected.append(Rejection(step=step, reason=reason))
            return []
        origin: Literal["accepted", "relocated"] = "accepted" if action == "accept" else "relocated"
        return [
            Boundary(
                step=step,
                origin=origin,
                evidence=candidate.evidence,
                reason=reason,
                candidate=candidate.step,
            )
        ]

    def inserted(self, entries: list[Any]) -> list[Boundary]:
        limit = self.rules.max_inserted
        if len(entries) > limit:
            self.found.append(f"{len(entries)} insertions; expected at most {limit}")
        added = []
        for entry in entries[:limit]:
            valid = self.fields(entry, {"t": object, "reason": str}, "insertion")
            if valid is None:
                continue
            if not self._is_step(valid["t"]) or not valid["reason"].strip():
                self.found.append(
                    f"insertion {quoted(valid)}; expected a step between 1 and "
                    f"{self.num_frames - 1} and a reason"
                )
                continue
            reason = one_line(valid["reason"])
            added.append(
                Boundary(step=valid["t"], origin="inserted", evidence=frozenset(), reason=reason)
            )
        return added

    def phases(self, entries: list[Any]) -> tuple[list[str], list[float]]:
        """Names and inner edges; the edges tile [0, 1] when nothing was found."""
        low, high = self.rules.min_phases, self.rules.max_phases
        if not low <= len(entries) <= high:
            self.found.append(f"{len(entries)} phases; expected {low} to {high}")
        kinds: dict[str, type] = {"name": str, "start_ratio": object, "end_ratio": object}
        names, edges, edge = [], [], 0.0
        for entry in entries[: high + 1]:
            phase = self.fields(entry, kinds, "phase")
            if phase is None:
                return [], []
            start, end = phase["start_ratio"], phase["end_ratio"]
            if not (_is_number(start) and _is_number(end) and start == edge and end > start):
                self.found.append(
                    f"phase {quoted(phase['name'])} spans {quoted(start)} to {quoted(end)}; "
                    f"expected it to start at {quoted(edge)} and to end later"
                )
                return [], []
            self._name(phase["name"])
            names.append(phase["name"])
            edges.append(edge)
            edge = end
        if edge != 1:
            self.found.append(f"the phases end at {quoted(edge)}; expected 1")
        if len(set(names)) != len(names):
            self.found.append(f"phase names {quoted(names)}; expected each only once")
        return names, edges[1:]

    def spacing(self, kept: Sequence[Boundary]) -> None:
        steps = [0, *(one.step for one in kept), self.num_frames]
        shortest = min(b - a for a, b in pairwise(steps))
        if shortest < self.rules.min_phase_frames:
            self.found.append(
                f"boundaries at {steps[1:-1]} make a phase of {shortest} steps; "
                f"expected at least {self.rules.min_phase_frames}"
            )

    def agreement(self, kept: Sequence[Boundary], edges: Sequence[float]) -> None:
        steps = [one.step for one in kept]
        ratios = [step / self.num_frames for step in steps]
        pairs = zip(ratios, edges, strict=False)
        if len(ratios) != len(edges) or any(abs(a - b) > _RATIO_SLACK for a, b in pairs):
            self.found.append(
                f"phases change at ratios {list(edges)}, but the accepted, relocated and inserted "
                f"steps are {steps}, ratios {[round(ratio, 2) for ratio in ratios]}"
            )

    def _name(self, name: str) -> None:
        verb = name.split("_")[0]
        if not _NAME.fullmatch(name) or len(name) > self.rules.max_name or verb not in VERBS:
            self.found.append(
                f"phase name {quoted(name)}; expected snake_case of two words or more, at most "
                f"{self.rules.max_name} characters, that starts with one of {', '.join(VERBS)}"
            )

    def _is_step(self, value: Any) -> bool:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and 0 < value < self.num_frames


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        # The message may quote any amount of the text.
        reason = str(error)[:MAX_QUOTED]
        return Violations(
            (f"the answer is not one JSON object and nothing else ({reason}): {quoted(text)}",)
        )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a field occurs twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # Infinity comes out of 1e999, which is valid JSON.
    return isinstance(value, int) or math.isfinite(value)
