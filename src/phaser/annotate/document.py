"""All tasks of one annotation: marks of their demonstrations, and the file that comes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from phaser.annotate.marks import Marks
from phaser.phases.stages import Annotator, EpisodeStages, RatioPhase, State, TaskStages
from phaser.phases.transfer import Placed

HUMAN, SIGNAL = "human", "auto-pc-signal"
EpisodeMarks = dict[int, Marks]
"""Marks by the number of the demonstration."""


def marks_in(stages: TaskStages) -> EpisodeMarks:
    """The marks that a file holds of a task; boundaries whose source is not said are a person's."""
    return {one.episode: _marks_of(one, stages) for one in stages.episodes}


def stages_of(
    marks: Mapping[int, Marks],
    *,
    instruction: str,
    before: TaskStages | None,
    annotated: Annotator | None,
) -> TaskStages | None:
    """A task as the file holds it; None where nobody has touched it.

    Args:
        marks: of its demonstrations.
        instruction: what the policy is told.
        before: what the file held of the task before it was opened.
        annotated: who worked on it; None where nobody did, and `before` says who.
    """
    touched = {number: one for number, one in sorted(marks.items()) if one.names}
    if not touched:
        return before
    typical = touched[_typical(touched)]
    names = typical.names
    if any(one.state == "verified" or one.edited for one in touched.values()):
        source = HUMAN if before is None or before.source.startswith("auto-pc") else before.source
    else:
        source = before.source if before else SIGNAL
    return TaskStages(
        instruction=instruction,
        phases=tuple(
            RatioPhase(
                name=phase.label,
                start_ratio=phase.start / typical.num_frames,
                end_ratio=phase.stop / typical.num_frames,
            )
            for phase in typical.segmentation().phases
        ),
        source=source,
        flag=before.flag if before else "",
        episodes=tuple(_episode(number, one, names) for number, one in touched.items()),
        annotated=annotated or (before.annotated if before else None),
    )


def _marks_of(one: EpisodeStages, stages: TaskStages) -> Marks:
    by_people = not stages.source.startswith("auto-pc")
    state = one.state or ("verified" if by_people else "candidate")
    return Marks(
        num_frames=one.num_frames,
        boundaries=one.boundaries,
        sources=one.sources or ("human" if by_people else "event",) * len(one.boundaries),
        names=one.phases or stages.names,
        state=state,
        edited="human" in one.sources,
    )


def _episode(number: int, one: Marks, names: tuple[str, ...]) -> EpisodeStages:
    state: State = "verified" if one.state == "verified" else "candidate"
    return EpisodeStages(
        episode=number,
        num_frames=one.num_frames,
        boundaries=one.boundaries,
        sources=one.sources,
        phases=() if one.names == names else one.names,
        state=state,
    )


def _typical(touched: Mapping[int, Marks]) -> int:
    """A verified demonstration before others, of the most usual phases, of middling length."""
    verified = {number: one for number, one in touched.items() if one.state == "verified"}
    among = verified or dict(touched)
    usual = Counter(one.names for one in among.values()).most_common(1)[0][0]
    alike = sorted((one.num_frames, number) for number, one in among.items() if one.names == usual)
    return alike[(len(alike) - 1) // 2][1]


def carried_marks(placed: Sequence[Placed], *, num_frames: int, names: tuple[str, ...]) -> Marks:
    """Marks of a demonstration that a person has not looked at, as carried from another."""
    return Marks(
        num_frames=num_frames,
        boundaries=tuple(one.step for one in placed),
        sources=tuple(one.source for one in placed),
        names=names,
        state="candidate",
    )
