"""Presets by name: functions that return a run, so that reading one shows all it changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from phaser.core.tables import Table
from phaser.experiments.backbone_presets import CELLS_OF_THE_TABLE, SMALL

if TYPE_CHECKING:
    from phaser.experiments.run import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """A named starting point."""

    summary: str
    make: Callable[[], Run]


def _metaworld(task_list: str, *, preset: str | None = None) -> Run:
    from phaser.experiments.run import Run
    from phaser.suites.metaworld.suite import MetaWorld

    return Run(preset=preset or task_list, suite=MetaWorld(task_list=task_list))


def _metaworld_10() -> Run:
    return _metaworld("metaworld-10")


def _metaworld_quick() -> Run:
    """The demo: the ten tasks once, with enough rollouts on the way to watch forgetting happen."""
    from phaser.experiments.run import Evaluation

    start = _metaworld("metaworld-10", preset="metaworld-quick")
    return replace(start, evaluation=Evaluation(earlier_rollouts=2))


def _metaworld_first() -> Run:
    """Two scenes: what was opened is closed, so that the second half undoes the first. Fewer
    demonstrations than usual, whose recording is most of a first demo's time, and rollouts."""
    from phaser.experiments.run import Evaluation, Run
    from phaser.suites.metaworld.recording import MetaWorldRecording
    from phaser.suites.metaworld.suite import MetaWorld

    tasks = ("drawer-open", "door-open", "drawer-close", "door-close")
    return Run(
        preset="metaworld-first",
        suite=MetaWorld(task_list=tasks, recording=MetaWorldRecording(num_train=12, num_heldout=3)),
        evaluation=Evaluation(rollouts_per_task=6, earlier_rollouts=2),
    )


def _metaworld_alt() -> Run:
    return _metaworld("metaworld-alt")


def _metaworld_confirm() -> Run:
    return _metaworld("metaworld-confirm")


def _metaworld_cw10() -> Run:
    from phaser.training.fit import Fit

    return replace(_metaworld("metaworld-cw10"), fit=Fit(steps_per_task=500))


def _metaworld_streams() -> Run:
    """The seed draws ten of the tasks that can be learnt, their order and the rollouts' starts."""
    from phaser.experiments.run import Evaluation, Run
    from phaser.suites.metaworld.suite import MetaWorld

    return Run(
        preset="metaworld-streams",
        suite=MetaWorld(task_list="metaworld-learnable", stream=0),
        evaluation=Evaluation(rollouts_per_task=10, learnt_rollouts=2),
    )


def _libero_goal() -> Run:
    """Trained longer than Meta-World, as grasps are finer; fewer rollouts, as they cost more."""
    from phaser.experiments.run import Evaluation, Run
    from phaser.suites.libero.suite import Libero
    from phaser.training.fit import Fit

    return Run(
        preset="libero-goal",
        suite=Libero(task_list="libero-goal"),
        fit=Fit(steps_per_task=800),
        evaluation=Evaluation(rollouts_per_task=5, learnt_rollouts=3),
    )


def _libero_long() -> Run:
    """As LIBERO-Goal, trained three times as long: with half of that two in ten were learnt."""
    from phaser.suites.libero.suite import Libero
    from phaser.training.fit import Fit

    return replace(
        _libero_goal(),
        preset="libero-long",
        suite=Libero(task_list="libero-long"),
        fit=Fit(steps_per_task=2400),
    )


def _libero_streams(whole: Callable[[], Run], *, num_tasks: int | None = None) -> Run:
    """The seed draws the order of the tasks and the rollouts' starts, and which tasks if fewer."""
    from phaser.experiments.run import Evaluation
    from phaser.suites.libero.suite import Libero

    start = whole()
    return replace(
        start,
        preset=f"{start.preset}-streams",
        suite=Libero(task_list=start.preset, stream=0, num_tasks=num_tasks),
        evaluation=Evaluation(rollouts_per_task=5, learnt_rollouts=1),
    )


def _datasets() -> Run:
    """The user names datasets with --suite.sources; nothing is measured by rollouts."""
    from phaser.experiments.run import Run
    from phaser.suites.datasets.suite import Datasets

    return Run(preset="datasets", suite=Datasets())


_OWN = {
    "metaworld-quick": Preset(
        summary="ten Meta-World tasks, watched while they are forgotten: what `phaser demo` runs",
        make=_metaworld_quick,
    ),
    "metaworld-first": Preset(
        summary="four Meta-World tasks in two scenes: what `phaser demo --quick` runs",
        make=_metaworld_first,
    ),
    "metaworld-10": Preset(
        summary="the same ten tasks, evaluated when learnt and at the end: for grids",
        make=_metaworld_10,
    ),
    "metaworld-alt": Preset(
        summary="ten other tasks, to confirm what was found on the first ten",
        make=_metaworld_alt,
    ),
    "metaworld-confirm": Preset(
        summary="ten tasks of neither list, on which nothing was ever chosen",
        make=_metaworld_confirm,
    ),
    "metaworld-cw10": Preset(
        summary="Continual World's ten tasks in its order; hard for a tiny policy",
        make=_metaworld_cw10,
    ),
    "metaworld-streams": Preset(
        summary="ten random tasks in random order by the seed: for comparisons over streams",
        make=_metaworld_streams,
    ),
    "libero-goal": Preset(
        summary="the ten tasks of LIBERO-Goal, shown by scripted experts; needs the libero extra",
        make=_libero_goal,
    ),
    "libero-long": Preset(
        summary="the ten tasks of LIBERO-Long, shown by scripted experts; needs the libero extra",
        make=_libero_long,
    ),
    "libero-goal-streams": Preset(
        summary="the ten tasks of LIBERO-Goal in random order by the seed: for comparisons",
        make=partial(_libero_streams, _libero_goal),
    ),
    "libero-long-streams": Preset(
        summary="five random tasks of LIBERO-Long in random order by the seed: for comparisons",
        make=partial(_libero_streams, _libero_long, num_tasks=5),
    ),
    "datasets": Preset(
        summary="your own datasets, LeRobot or HDF5: --suite.sources a.hdf5 b/ c/; no simulator",
        make=_datasets,
    ),
    **{
        name: Preset(summary=summary, make=make)
        for name, (summary, make) in (CELLS_OF_THE_TABLE | SMALL).items()
    },
}


PRESETS: Table[Preset] = Table(kind="preset", group="phaser.presets", own=_OWN)
"""All presets: ours, and those that installed packages add."""


def preset(name: str) -> Run:
    """The run of that preset, or the nearest names that exist."""
    return PRESETS.require(name).make()
