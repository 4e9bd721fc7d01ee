"""Auto-PC, stage 2: a vision-language model judges the candidates of one demonstration per task.

Paper, section "Automated Phase Boundary Sourcing" and its appendix. An answer that breaks the rules
is asked for once more with the list of what is wrong; after a second failure, or without an answer,
the phases of stage 1 stand and the result says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from phaser.core.demonstration import Demo
from phaser.core.errors import BadInput
from phaser.core.segmentation import Segmentation
from phaser.phases.autopc import AutoPC, segmentations
from phaser.phases.candidates import Candidate
from phaser.phases.labels import labels
from phaser.phases.stage_info import EpisodeStages, RatioPhase, TaskStages
from phaser.phases.transfer import Source
from phaser.phases.verify_answer import AnswerRules, Verdict, Violations, check_answer
from phaser.phases.vlm import Vlm
from phaser.phases.vlm_frames import chosen_steps, read_frames
from phaser.phases.vlm_request import Media, Request, build_request
from phaser.phases.vlm_server import NoAnswer

SIGNAL_SOURCE = "auto-pc-signal"
VERIFIED_SOURCE = "auto-pc-vlm"


@dataclass(frozen=True, slots=True)
class Unverified:
    """Why there is no verdict, in one line."""

    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verifier:
    """How a demonstration is shown to a model and what its answer must obey."""

    vlm: Vlm
    rules: AnswerRules = field(default_factory=AnswerRules)
    camera: str | None = None
    """The demonstration's first camera when none is named."""
    max_frames: int = 48
    media: Media = "images"
    max_answer_tokens: int = 2000

    def __post_init__(self) -> None:
        if self.media not in ("images", "video"):
            raise BadInput(f"media {self.media!r}; expected 'images' or 'video'")
        if self.max_frames < 2 or self.max_answer_tokens < 1:
            raise BadInput(
                f"{self.max_frames} frames, {self.max_answer_tokens} tokens; "
                "expected at least 2 frames and 1 token"
            )

    def verify(
        self, demo: Demo, found: Sequence[Candidate], instruction: str
    ) -> Verdict | Unverified:
        """One question, and one more when the answer breaks the rules."""
        if demo.num_frames < self.rules.min_phases * self.rules.min_phase_frames:
            return Unverified(f"{demo.num_frames} frames are too few for two phases")
        request = self._request(demo, found, instruction)
        try:
            answer = self.vlm.ask(request).text
            outcome = self._checked(answer, demo, found)
            if isinstance(outcome, Violations):
                again = request.again(answer, outcome.sentences)
                outcome = self._checked(self.vlm.ask(again).text, demo, found)
        except NoAnswer as error:
            return Unverified(str(error))
        if isinstance(outcome, Violations):
            return Unverified(_two_failures(outcome))
        return outcome

    def _checked(self, answer: str, demo: Demo, found: Sequence[Candidate]) -> Verdict | Violations:
        return check_answer(answer, candidates=found, num_frames=demo.num_frames, rules=self.rules)

    def _request(self, demo: Demo, found: Sequence[Candidate], instruction: str) -> Request:
        steps = chosen_steps(
            [one.step for one in found], num_frames=demo.num_frames, max_frames=self.max_frames
        )
        return build_request(
            model=self.vlm.server.model,
            instruction=instruction,
            candidates=found,
            frames=read_frames(demo, self.camera, steps),
            num_frames=demo.num_frames,
            rules=self.rules,
            media=self.media,
            max_answer_tokens=self.max_answer_tokens,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskPhases:
    """The phases of all demonstrations of a task, and how they were found."""

    segmentations: tuple[Segmentation, ...]
    demos: tuple[int, ...]
    """The number of each demonstration in its dataset."""
    boundary_sources: tuple[tuple[Source, ...], ...]
    """For each boundary of each demonstration, whether an event or the ratio put it there."""
    representative: int
    """Position of the demonstration that was looked at."""
    source: str
    verdict: Verdict | None = None
    flag: str = ""
    """Why a verification that was asked for did not happen; empty when all is well."""
    remarks: tuple[str, ...] = ()
    """Sentences that a user should read about the demonstrations."""

    def stages(self, instruction: str) -> TaskStages:
        """For `stage_info.json`: ratios of the representative, steps of every episode."""
        typical = self.segmentations[self.representative]
        total = typical.num_frames
        phases = tuple(
            RatioPhase(name=one.label, start_ratio=one.start / total, end_ratio=one.stop / total)
            for one in typical.phases
        )
        episodes = tuple(
            EpisodeStages(
                episode=number,
                num_frames=one.num_frames,
                boundaries=one.boundaries,
                sources=sources,
            )
            for number, one, sources in zip(
                self.demos, self.segmentations, self.boundary_sources, strict=True
            )
        )
        return TaskStages(
            instruction=instruction,
            phases=phases,
            source=self.source,
            flag=self.flag,
            episodes=episodes,
        )


def find_phases(
    demos: Sequence[Demo], *, instruction: str, auto: AutoPC, verifier: Verifier | None = None
) -> TaskPhases:
    """Stage 1, and stage 2 when there is a verifier; a failed stage 2 is flagged, never hidden."""
    position = auto.reference(demos)
    typical = demos[position]
    found = auto.candidates(typical)
    outcome = verifier.verify(typical, found, instruction) if verifier else None
    verdict = outcome if isinstance(outcome, Verdict) else None
    if verdict is not None:
        steps, names = [one.step for one in verdict.boundaries], verdict.names
    else:
        chosen = auto.chosen(typical)
        steps = [one.step for one in chosen]
        names = labels(chosen, typical, instruction=instruction)
    carried = auto.carry(steps, demos, reference=position)
    return TaskPhases(
        segmentations=segmentations(carried, demos, names),
        demos=tuple(demo.index for demo in demos),
        boundary_sources=tuple(tuple(one.source for one in placed) for placed in carried),
        representative=position,
        source=SIGNAL_SOURCE if verdict is None else VERIFIED_SOURCE,
        verdict=verdict,
        flag=f"not verified: {outcome.reason}" if isinstance(outcome, Unverified) else "",
        remarks=auto.remarks(demos),
    )


def _two_failures(violations: Violations) -> str:
    more = len(violations.sentences) - 1
    rest = f" (and {more} more)" if more else ""
    return f"two answers broke the rules, the second: {violations.sentences[0]}{rest}"
