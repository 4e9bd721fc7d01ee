"""Which task comes next, and the flags that LeRobot is given for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from phaser.core.errors import BadInput
from phaser.integrations.lerobot.checkpoints import CONFIG, MODEL, newest, policy_of
from phaser.integrations.lerobot.progress import Learnt
from phaser.integrations.lerobot.sources import REPO_ID, ROOT, Source
from phaser.integrations.lerobot.words import RESUME, value_of, without

OUTPUT, CONFIG_PATH, POLICY_PATH, POLICY_TYPE = (
    "--output_dir",
    "--config_path",
    "--policy.path",
    "--policy.type",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One task of a stream, as LeRobot will be asked to learn it."""

    index: int
    source: Source
    output: Path | None
    """None in a single run whose output folder LeRobot chooses."""
    flags: tuple[str, ...]
    resumes: bool
    """Training goes on from a checkpoint."""


def next_step(
    sources: Sequence[Source],
    words: Sequence[str],
    learnt: Sequence[Learnt],
    *,
    output: Path,
    resume: bool,
) -> Step | None:
    """The first dataset of a stream that is not learnt yet; None where all are.

    Args:
        sources: the datasets in order.
        words: LeRobot's flags as the user gave them.
        learnt: finished tasks; those of this stream must be its first ones.
        output: the folder of the whole stream; every task has one in it.
        resume: go on with what is there already.
    """
    _check_same_stream(sources, learnt)
    if learnt and not resume:
        raise BadInput(
            f"{len(learnt)} of {len(sources)} datasets of this stream are learnt already; "
            f"go on with {RESUME}=true, or give another {OUTPUT} and memory"
        )
    index = len(learnt)
    if index == len(sources):
        return None
    source, own = sources[index], output / f"{index:03d}-{sources[index].name}"
    if resume and (checkpoint := newest(own)) is not None:
        return Step(
            index=index,
            source=source,
            output=own,
            flags=(*resuming(words, checkpoint), *source.flags, f"{OUTPUT}={own}"),
            resumes=True,
        )
    if own.exists() and not resume:
        raise BadInput(
            f"{own} is there already; go on with {RESUME}=true, or give another {OUTPUT}"
        )
    start = words if index == 0 else _after(words, Path(learnt[-1].output))
    flags = (*without(start, OUTPUT, REPO_ID, ROOT), *source.flags, f"{OUTPUT}={own}")
    return Step(index=index, source=source, output=own, flags=flags, resumes=False)


def resuming(words: Sequence[str], checkpoint: Path) -> list[str]:
    """The flags that make LeRobot go on; the policy's settings are those of the checkpoint."""
    kept = without(words, "--policy.", CONFIG_PATH, OUTPUT, REPO_ID, ROOT)
    return [*kept, f"{CONFIG_PATH}={checkpoint / MODEL / CONFIG}", f"{RESUME}=true"]


def check_words(words: Sequence[str], *, num_datasets: int) -> None:
    """Refuse flags of LeRobot's that contradict a stream."""
    for flag in (REPO_ID, ROOT):
        if value_of(words, flag) is not None:
            raise BadInput(f"{flag} beside --stream; name all datasets in --stream")
    saves = (value_of(words, "--save_checkpoint") or "true").lower()
    if num_datasets > 1 and saves == "false":
        raise BadInput(
            "--save_checkpoint=false leaves no policy for the next dataset to start from; leave "
            "it out"
        )


def _after(words: Sequence[str], earlier: Path) -> list[str]:
    """The same flags with the policy that the task before has left."""
    policy = policy_of(earlier)
    if policy is None:
        raise BadInput(
            f"{earlier} has no checkpoint for the next dataset to start from; restore it, or "
            "begin the stream anew"
        )
    # LeRobot takes a path or a type, and a configuration file may hold a type as well.
    return [*without(words, POLICY_TYPE, POLICY_PATH), f"{POLICY_PATH}={policy}"]


def _check_same_stream(sources: Sequence[Source], learnt: Sequence[Learnt]) -> None:
    for place, one in enumerate(learnt):
        there = sources[place] if place < len(sources) else None
        if there is None or (one.name, one.repo_id) != (there.name, there.repo_id):
            given = "nothing" if there is None else there.repo_id
            raise BadInput(
                f"dataset {place + 1} of the memory is {one.repo_id}, of --stream {given}; name "
                "the same datasets in the same order, new ones last"
            )
