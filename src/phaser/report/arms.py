"""Arms of a study side by side: folders of finished cells, paired by their streams.

An arm is a folder whose cells differ in their seed alone; arms may differ in anything: method,
frames, codec, recipe. A report compares methods at one budget; this compares what people pay for,
such as what the same bytes buy. `phaser report --arms` prints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from phaser.core.errors import BadInput
from phaser.core.streams import Streams
from phaser.evaluation.comparison import (
    Estimate,
    Matrices,
    PairedDifference,
    estimate_asr,
    paired_difference,
)
from phaser.evaluation.intervals import Interval
from phaser.evaluation.student import mean_interval
from phaser.report.runs import RunResult, finished_folders, read_run
from phaser.report.splits import Measure, progress


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Arm:
    """Runs that differ in their seed alone."""

    name: str
    runs: tuple[RunResult, ...]

    @classmethod
    def read(cls, folder: Path) -> Arm:
        """All finished cells of a folder; FOLDER@A-B: of seeds A to B alone."""
        runs = tuple(read_run(cell) for cell in finished_folders([folder]))
        kinds = {(run.method, str(run.budget)) for run in runs}
        if len(kinds) != 1 or len({run.seed for run in runs}) != len(runs):
            raise BadInput(f"{folder}: cells of {sorted(kinds)}; expected one method, seeds apart")
        return cls(name=folder.name, runs=runs)

    @property
    def matrices(self) -> Matrices:
        return {run.seed: run.matrix for run in self.runs}

    @property
    def orders(self) -> int:
        """How many different orders of tasks its runs learn; of joint runs, how many lists."""
        return len({run.tasks for run in self.runs})

    @property
    def frames_per_task(self) -> float:
        """Frames kept of a task, the mean over tasks and streams."""
        return _mean([n for run in self.runs for n in run.certificate.frames_per_task.values()])

    @property
    def bytes_per_task(self) -> tuple[float, float]:
        """Stored bytes of a task, the mean and the largest."""
        found = [n for run in self.runs for n in run.certificate.bytes_per_task.values()]
        return _mean(found), max(found, default=0.0)

    @property
    def learnt(self) -> float:
        """Success of tasks when they had just been learnt."""
        found = [run.metrics.plasticity for run in self.runs if run.metrics is not None]
        return _mean([one for one in found if one is not None])

    @property
    def progress(self) -> float:
        """Percent of their tasks' milestones that rollouts after the last task reached."""
        return _mean([progress(run) for run in self.runs])

    @property
    def final_loss(self) -> float:
        """Held-out loss after the last task, the mean over streams of their mean over phases."""
        return _mean([_final_loss(run) for run in self.runs])

    @property
    def training_s(self) -> float:
        """Processor time of the training steps of a stream."""
        return _mean([_training(run) for run in self.runs])

    @property
    def keeping_s(self) -> float:
        """Processor time in which the frames of one task are chosen, encoded and stored."""
        return _mean([run.timing["keep_s"] / run.timing["transitions"] for run in self.runs])

    @property
    def transition_share(self) -> float:
        """Processor time between tasks (scoring, keeping), as a share of the training steps'."""
        return _mean([run.timing["stream_cpu_s"] / _training(run) - 1 for run in self.runs])


def rows(arms: Sequence[Arm]) -> Iterator[str]:
    """A Markdown table: every arm, and its difference from the first."""
    first = arms[0]
    yield (
        "| arm | streams | frames/task | kB/task (largest) | success at the end % | "
        "when learnt % | "
        f"minus {first.name}, points | held-out loss |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for arm in arms:
        mean_bytes, largest = arm.bytes_per_task
        held = f"{mean_bytes / 1000:.0f} ({largest / 1000:.0f})" if mean_bytes > 0 else "–"
        frames = f"{arm.frames_per_task:.0f}" if mean_bytes > 0 else "–"
        learnt = f"{100 * arm.learnt:.1f}" if arm.learnt == arm.learnt else "–"
        gap = "–" if arm is first else told_difference(difference(arm, first))
        yield (
            f"| {arm.name} | {len(arm.runs)} | {frames} | {held} | "
            f"{told_estimate(estimate_asr(arm.matrices))} | {learnt} | {gap} | "
            f"{arm.final_loss:.4f} |"
        )


def text_rows(arms: Sequence[Arm]) -> list[list[str]]:
    """The same for a terminal of 80 columns: heads first."""
    first = arms[0]
    table = [["arm", "runs", "frames", "kB", "success %", f"minus {first.name}", "p"]]
    for arm in arms:
        gap = None if arm is first else difference(arm, first)
        held = arm.bytes_per_task[0]
        table.append(
            [
                arm.name,
                str(len(arm.runs)),
                f"{arm.frames_per_task:.0f}" if held > 0 else "–",
                f"{held / 1000:.0f}" if held > 0 else "–",
                told_estimate(estimate_asr(arm.matrices)),
                _told_gap(gap) if gap else "–",
                f"{gap.p_value:.2g}" if gap and gap.p_value is not None else "–",
            ]
        )
    return table


def repeated_order(arms: Sequence[Arm]) -> str:
    """A line for readers where runs differ in less than they may believe; else nothing."""
    names = [arm.name for arm in arms if len(arm.runs) > 1 and arm.orders == 1]
    if not names:
        return ""
    whose = "all arms" if len(names) == len(arms) > 1 else ", ".join(names)
    return (
        f"The runs of {whose} learn the same tasks in the same order: seeds differ in training, "
        "so nothing is known of other orders."
    )


def difference(one: Arm, other: Arm) -> PairedDifference:
    """The first arm minus the second, over the streams that both have."""
    return paired_difference(
        one.matrices, other.matrices, Streams(0).named("arms", one.name, other.name)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A quantity with its 95 % interval over streams; none where it cannot be known."""

    mean: float
    interval: Interval | None


def share(one: Arm, other: Arm) -> Measured:
    """Success of the first arm as a share of the second's, over the streams that both have."""
    first, second = _common(one, other, _success)
    if not second.any():
        raise BadInput(f"{other.name} solved nothing; there is no share of it")
    return _ratio(first, second)


def training_ratio(one: Arm, other: Arm) -> Measured:
    """Processor time of the first arm's training steps over the second's, in common streams."""
    return _ratio(*_common(one, other, _training))


def loss_difference(one: Arm, other: Arm) -> Measured:
    """Held-out loss after the last task, the first arm minus the second, paired by stream."""
    return split_difference(one, other, _final_loss)


def split_difference(one: Arm, other: Arm, measure: Measure) -> Measured:
    """A measure of runs, the first arm minus the second, over the common streams that have it."""
    first, second = _common(one, other, measure)
    apart = first - second
    apart = apart[~np.isnan(apart)]
    if not apart.size:
        raise BadInput(f"no common stream of {one.name} and {other.name} has such a task or phase")
    return Measured(mean=float(apart.mean()), interval=mean_interval(apart[:, None]))


def _ratio(first: np.ndarray, second: np.ndarray) -> Measured:
    """A ratio of two means over streams; the interval is linearised at its value."""
    ratio = float(first.mean() / second.mean())
    around = ratio + (first - ratio * second) / second.mean()
    return Measured(mean=ratio, interval=mean_interval(around[:, None]))


def _common(one: Arm, other: Arm, value: Measure) -> tuple[np.ndarray, np.ndarray]:
    """A value of two arms over the streams that both have, in the order of their numbers."""
    first, second = ({run.seed: value(run) for run in arm.runs} for arm in (one, other))
    seeds = sorted(set(first) & set(second))
    if not seeds:
        raise BadInput(f"no common stream: {sorted(first)} against {sorted(second)}")
    return np.array([first[seed] for seed in seeds]), np.array([second[seed] for seed in seeds])


def _success(run: RunResult) -> float:
    return run.metrics.average_success_rate if run.metrics else float("nan")


def _training(run: RunResult) -> float:
    return run.timing["learn_cpu_s"]


def _final_loss(run: RunResult) -> float:
    return _mean([phase.final_loss for phase in run.phases])


def told_estimate(found: Estimate) -> str:
    return f"{100 * found.mean:.1f} {_ends(found.interval, sign=False)}"


def told_difference(found: PairedDifference) -> str:
    text = _told_gap(found)
    if found.p_value is not None:
        text += f", p = {found.p_value:.3g}"
    if found.detectable is not None:
        text += f", finds {100 * found.detectable:.0f}"
    return f"{text}, {found.num_seeds} streams"


def _told_gap(found: PairedDifference) -> str:
    return f"{100 * found.mean:+.1f} {_ends(found.interval, sign=True)}".replace("-", "−")


def _ends(interval: Interval | None, *, sign: bool) -> str:
    if interval is None:
        return "[–]"
    form = "+.1f" if sign else ".1f"
    return f"[{100 * interval.lower:{form}}, {100 * interval.upper:{form}}]".replace("-", "−")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def as_json(arms: Sequence[Arm]) -> list[dict[str, object]]:
    """The same numbers for programs."""
    found: list[dict[str, object]] = []
    for arm in arms:
        whole, gap = estimate_asr(arm.matrices), difference(arm, arms[0])
        found.append(
            {
                "arm": arm.name,
                "seeds": [run.seed for run in arm.runs],
                "orders": arm.orders,
                "asr": whole.mean,
                "asr_by_seed": {
                    run.seed: run.metrics.average_success_rate for run in arm.runs if run.metrics
                },
                "frames_per_task": arm.frames_per_task,
                "bytes_per_task": arm.bytes_per_task[0],
                "difference": gap.mean,
                "difference_by_seed": dict(gap.by_seed),
                "p_value": gap.p_value,
                "final_loss": arm.final_loss,
            }
        )
    return found
