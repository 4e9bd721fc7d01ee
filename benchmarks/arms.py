"""Arms of a study side by side: folders of finished cells, paired by their streams.

    python -m benchmarks.arms results/bytes/peers results/bytes/default results/bytes/joint [--json]

An arm is a folder whose cells differ in their seed alone; arms may differ in anything: method,
frames, codec, recipe. Every arm is compared with the first one over the streams that both have:
success after the last task, 95 % interval over streams (Student's t), p by flipping signs, and the
gap that so many streams would find in four studies of five. `phaser report` compares methods at one
budget; this compares what a budget of bytes buys.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
from phaser.report.runs import RunResult, finished_folders, read_run


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Arm:
    """Runs that differ in their seed alone."""

    name: str
    runs: tuple[RunResult, ...]

    @classmethod
    def read(cls, folder: Path, seeds: Sequence[int] | None = None) -> Arm:
        """All finished cells of a folder, or those of some seeds."""
        runs = tuple(read_run(cell) for cell in finished_folders([folder]))
        runs = tuple(run for run in runs if seeds is None or run.seed in seeds)
        kinds = {(run.method, str(run.budget)) for run in runs}
        if len(kinds) != 1 or len({run.seed for run in runs}) != len(runs):
            raise BadInput(f"{folder}: cells of {sorted(kinds)}; expected one method, seeds apart")
        return cls(name=folder.name, runs=runs)

    @property
    def matrices(self) -> Matrices:
        return {run.seed: run.matrix for run in self.runs}

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
    def final_loss(self) -> float:
        """Held-out loss after the last task, the mean over phases and streams."""
        return _mean([phase.final_loss for run in self.runs for phase in run.phases])

    @property
    def training_s(self) -> float:
        """Processor time of the training steps of a stream."""
        return _mean([run.timing["learn_cpu_s"] for run in self.runs])


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
        held = f"{mean_bytes / 1000:.0f} ({largest / 1000:.0f})" if mean_bytes else "–"
        learnt = f"{100 * arm.learnt:.1f}" if arm.learnt == arm.learnt else "–"
        gap = "–" if arm is first else told_difference(difference(arm, first))
        yield (
            f"| {arm.name} | {len(arm.runs)} | {arm.frames_per_task:.0f} | {held} | "
            f"{told_estimate(estimate_asr(arm.matrices))} | {learnt} | {gap} | "
            f"{arm.final_loss:.4f} |"
        )


def difference(one: Arm, other: Arm) -> PairedDifference:
    """The first arm minus the second, over the streams that both have."""
    return paired_difference(
        one.matrices, other.matrices, Streams(0).named("arms", one.name, other.name)
    )


def told_estimate(found: Estimate) -> str:
    return f"{100 * found.mean:.1f} {_ends(found.interval, sign=False)}"


def told_difference(found: PairedDifference) -> str:
    text = f"{100 * found.mean:+.1f} {_ends(found.interval, sign=True)}"
    if found.p_value is not None:
        text += f", p = {found.p_value:.3g}"
    if found.detectable is not None:
        text += f", finds {100 * found.detectable:.0f}"
    return f"{text}, {found.num_seeds} streams".replace("-", "−")


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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("arms", nargs="+", type=Path, help="folders of finished cells")
    parser.add_argument("--seeds", nargs="+", type=int, help="only these streams")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    arms = [Arm.read(folder, options.seeds) for folder in options.arms]
    if options.json:
        print(json.dumps(as_json(arms), indent=2))
    else:
        print("\n".join(rows(arms)))


if __name__ == "__main__":
    main()
