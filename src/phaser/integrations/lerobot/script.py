"""The one file that knows LeRobot's training script, with a memory around its batches.

LeRobot has no hook for a training loop, but its script calls a few functions by names of its own
module, in 0.4 as in 0.6. Those are wrapped: the dataset gets the stream's statistics and loses its
held-out episodes, the loader's batches are mixed, and the end of training keeps the task.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phaser.core.errors import BadInput, MissingDependency
from phaser.demos.held_out import last_held_out
from phaser.integrations.lerobot.statistics import OfFeatures, as_arrays

INSTALL = "pip install lerobot==0.4.4 (Python 3.10 or 3.11), or 'lerobot[training]>=0.6'"
WITHOUT_TYPE = "IDENTITY"


@dataclass(kw_only=True, slots=True, eq=False)
class Seen:
    """What the hooks have met so far in this run."""

    config: Any = None
    """LeRobot's TrainPipelineConfig."""
    dataset: Any = None
    """The training dataset, without the held-out episodes."""
    held_out: tuple[int, ...] = ()
    statistics: OfFeatures = field(default_factory=dict)
    """The dataset's own, before those in force took their place."""
    policy: Any = None
    preprocessor: Any = None
    postprocessor: Any = None
    step: int = 0
    """Where training starts: above zero in a resumed run."""


class TrainingOver(BaseException):
    """Ends the script where its last line ends it, with everything in it still alive.

    Of several processes, one that frees its group's objects while a thread of that group frees
    its own may wait for ever (torch 2.10, gloo). The exception holds the script's variables until
    the process is replaced or ends.
    """


_KEPT: list[BaseException] = []


class Replaced:
    """Another value under a name of a module or class, as long as the block lasts."""

    def __init__(self, owner: Any, name: str, value: Any) -> None:
        self.owner, self.name, self.value = owner, name, value

    def __enter__(self) -> None:
        self.before = getattr(self.owner, self.name)
        setattr(self.owner, self.name, self.value)

    def __exit__(self, *_: object) -> None:
        setattr(self.owner, self.name, self.before)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Hooks:
    """What is asked at each place of the script."""

    held_out_share: float
    statistics: Callable[[Seen], OfFeatures]
    """Which statistics the policy is given."""
    begin: Callable[[Seen], Callable[[Any], Any]]
    """Begins the task, on every process; returns what mixes a batch."""
    end: Callable[[Seen], None]
    """Called on every process when training has ended, while they can still talk."""


def train(flags: Sequence[str], hooks: Hooks) -> None:
    """Run LeRobot's training script with these flags."""
    script = _script()
    seen = Seen()
    with ExitStack() as wrapped:
        for one in (
            _dataset(script, seen, hooks),
            _processors(script, seen),
            _resuming(script, seen),
            _batches(script, seen, hooks),
            *_accelerator(seen, hooks),
            Replaced(sys, "argv", ["lerobot-train", *flags]),
        ):
            wrapped.enter_context(one)
        try:
            script.main()
        except TrainingOver as over:
            _KEPT.append(over)


def open_dataset(
    config: Any, *, repo_id: str, root: str | None, episodes: Sequence[int] | None
) -> Any:
    """A dataset as the script would open it, without augmentation."""
    from lerobot.datasets.factory import make_dataset

    own = copy.deepcopy(config)
    own.dataset.repo_id, own.dataset.root = repo_id, root
    own.dataset.episodes = None if episodes is None else list(episodes)
    own.dataset.image_transforms.enable = False
    return make_dataset(own)


def collate_of(dataset: Any) -> Callable[[list[Any]], Any] | None:
    """The collate function that the script uses for a dataset; None for torch's own."""
    if not getattr(dataset.meta, "has_language_columns", False):
        return None
    from lerobot.utils.collate import lerobot_collate_fn

    collate: Callable[[list[Any]], Any] = lerobot_collate_fn
    return collate


def forget_decoders() -> None:
    """Close the decoders of this process, which forked workers must not inherit."""
    with suppress(ImportError, AttributeError):
        from lerobot.datasets import video_utils

        video_utils._default_decoder_cache.clear()


def instructions_of(dataset: Any) -> list[str]:
    """The tasks of a dataset, in its own words."""
    return [str(one) for one in dataset.meta.tasks.index]


def modes_of(config: Any, features: Sequence[str]) -> dict[str, str]:
    """How a policy normalises each feature, by the names of its normalisation modes."""
    mapping = {
        str(getattr(kind, "value", kind)): str(getattr(mode, "value", mode))
        for kind, mode in config.policy.normalization_mapping.items()
    }
    return {name: mapping.get(_kind(name), WITHOUT_TYPE) for name in features}


def _kind(feature: str) -> str:
    if feature.startswith("observation.image"):
        return "VISUAL"
    if feature == "observation.environment_state":
        return "ENV"
    return {"action": "ACTION", "observation.state": "STATE"}.get(feature, "")


def _script() -> Any:
    try:
        import lerobot.scripts.lerobot_train as script
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "lerobot":
            raise
        raise MissingDependency(
            f"LeRobot, or its training script, is not installed here; run: {INSTALL}"
        ) from error
    return script


def _dataset(script: Any, seen: Seen, hooks: Hooks) -> Replaced:
    name = "make_dataset" if hasattr(script, "make_dataset") else "make_train_eval_datasets"
    make = getattr(script, name)

    def made(config: Any) -> Any:
        _refuse_weights(config)
        asked = config.dataset.episodes
        seen.config, seen.held_out = config, _held_out(config, hooks.held_out_share)
        if seen.held_out:
            config.dataset.episodes = [
                one for one in _episodes(config) if one not in set(seen.held_out)
            ]
        try:
            found = make(config)
        finally:
            # The checkpoint's configuration shall say what the user has asked for.
            config.dataset.episodes = asked
        seen.dataset = found[0] if isinstance(found, tuple) else found
        seen.statistics = as_arrays(seen.dataset.meta.stats)
        seen.dataset.meta.stats = hooks.statistics(seen)
        return found

    return Replaced(script, name, made)


def _held_out(config: Any, share: float) -> tuple[int, ...]:
    if not share:
        return ()
    episodes = _episodes(config)
    return tuple(episodes[place] for place in sorted(last_held_out(len(episodes), share)))


def _episodes(config: Any) -> list[int]:
    """The episodes that the user has asked for."""
    if config.dataset.episodes is not None:
        return list(config.dataset.episodes)
    from lerobot.datasets.lerobot_dataset import LeRobotDatasetMetadata

    found = LeRobotDatasetMetadata(
        config.dataset.repo_id, root=config.dataset.root, revision=config.dataset.revision
    )
    return list(range(found.total_episodes))


def _refuse_weights(config: Any) -> None:
    """LeRobot weighs samples by their row in the newest dataset: not by that of rehearsed ones."""
    if getattr(config, "use_rabc", False) or getattr(config, "sample_weighting", None) is not None:
        raise BadInput(
            "LeRobot's sample weights (RA-BC) belong to rows of the newest dataset; rehearsed "
            "samples would get weights of others: train without them, or without rehearsal"
        )
    if config.policy is None:
        raise BadInput("rehearsal is for policies; found a reward model: use lerobot-train itself")


def _processors(script: Any, seen: Seen) -> Replaced:
    make = script.make_pre_post_processors

    def made(*arguments: Any, **named: Any) -> Any:
        found = make(*arguments, **named)
        seen.preprocessor, seen.postprocessor = found
        return found

    return Replaced(script, "make_pre_post_processors", made)


def _resuming(script: Any, seen: Seen) -> Replaced:
    load = script.load_training_state

    def loaded(*arguments: Any, **named: Any) -> Any:
        found = load(*arguments, **named)
        seen.step = found[0]
        return found

    return Replaced(script, "load_training_state", loaded)


def _batches(script: Any, seen: Seen, hooks: Hooks) -> Replaced:
    cycle = script.cycle

    def mixed(loader: Any) -> Iterator[Any]:
        # All processes call this; the dataset was made by the first one alone, before.
        mix = hooks.begin(seen)
        forget_decoders()
        return (mix(batch) for batch in cycle(loader))

    return Replaced(script, "cycle", mixed)


def _accelerator(seen: Seen, hooks: Hooks) -> tuple[Replaced, Replaced]:
    from accelerate import Accelerator

    prepare, end = Accelerator.prepare, Accelerator.end_training

    def prepared(self: Any, *things: Any, **named: Any) -> Any:
        found = prepare(self, *things, **named)
        if isinstance(found, tuple):
            seen.policy = self.unwrap_model(found[0])
        return found

    def ended(self: Any) -> None:
        hooks.end(seen)
        end(self)
        if self.num_processes > 1:
            raise TrainingOver

    return (
        Replaced(Accelerator, "prepare", prepared),
        Replaced(Accelerator, "end_training", ended),
    )


def output_of(config: Any) -> Path:
    """The output folder of a run."""
    return Path(config.output_dir)
