"""`phaser.Replay`: a replay memory for any training loop, in five lines.

    replay = Replay("memory/", method="phaser", budget=1000)
    with replay.task(demos, instruction="open the drawer") as task:
        for batch in loader:
            loss = policy(task.mix(batch)).loss

What a task will leave behind is chosen when it begins, so that a budget that cannot be met, a
dataset with gaps or a missing encoder is refused before hours of training, not after them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from phaser.core.demonstration import ActionLayout, Task
from phaser.core.errors import BadInput, UnknownName
from phaser.core.locks import Shared
from phaser.core.memory import PreparedTask
from phaser.core.ports import Segmenter
from phaser.core.ranges import as_whole
from phaser.core.streams import Streams
from phaser.memory.budget import Budget
from phaser.memory.codec_names import DEFAULT_CODEC
from phaser.memory.codecs import ImageCodec
from phaser.memory.manifest import MANIFEST
from phaser.memory.store import Store
from phaser.memory.store_files import READING
from phaser.methods.method import Method
from phaser.methods.table import method as method_named
from phaser.replay.about import about_memory, named_task, source_of
from phaser.replay.choosing import Choice
from phaser.replay.columns import Columns
from phaser.replay.decoders import keep_decoders_in_this_process
from phaser.replay.drawing import drawing
from phaser.replay.encoding import Encoders, Language, Vision
from phaser.replay.entering import check_answers, say_if_one_phase
from phaser.replay.image_transforms import augmentation_of
from phaser.replay.instructions import instruction_for
from phaser.replay.keeping import keep_frames
from phaser.replay.loop_policy import LoopPolicy
from phaser.replay.penalised import require_policy
from phaser.replay.preparing import (
    SampleProbe,
    check_probe,
    prepare,
    segmenter_for,
)
from phaser.replay.ranks import Ranks
from phaser.replay.recording import Recording, read_recording, samples_of
from phaser.replay.stored_samples import StoredSamples, reference_to
from phaser.replay.task import Collate, ReplayTask
from phaser.replay.telling import Telling


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A memory on disk and the rules by which tasks enter it and come back."""

    folder: Path | str
    """Where the memory is kept; made when the first task begins."""
    _: KW_ONLY
    method: Method | str = "phaser"
    """A name of `phaser methods`, or a `Method` of your own."""
    budget: int | Budget | None = None
    """Frames per task, or another way of counting: `Budget.per_phase(250)`,
    `Budget.bytes_per_task(50_000_000)`, `Budget.total(10_000)`, `Budget.total_bytes(2 * 10**9)`."""
    codec: ImageCodec | str = DEFAULT_CODEC
    """How images are stored; "webp-lossless" gives the same pixels back for three to five times the
    bytes, "h264:90" (clips of neighbouring frames, needs PyAV) is smaller where many are kept."""
    store: str = "content"
    """"content" copies the kept frames into the memory; "references" leaves them in their LeRobot
    dataset, which has to stay, and keeps where they are."""
    seed: int = 0
    """Draws, and frames that are kept at random, depend on it."""
    layout: ActionLayout | str | None = None
    """Which action numbers move the arm and which the gripper; None: the dataset says it."""
    phases: Segmenter | Path | str | None = None
    """A segmenter, a stage_info.json, or "dataset": those that the LeRobot dataset carries; None:
    Auto-PC, from the actions alone."""
    rehearsed_share: float = 0.5
    """Share of a batch that `mix` replaces; at least one current sample stays."""
    columns: Columns = field(default_factory=Columns)
    """How your samples name episode, frame, action and images; the default is LeRobot's."""
    collate: Collate | None = None
    """The collate function of your loader, if it has one."""
    language: Language | str = "minilm"
    """An encoder by name, or a function from text to a vector; only routing methods ask for it."""
    vision: Vision | str = "efficientnet-lite0"
    """An encoder by name, or a function from images (count, height, width, 3) to vectors."""
    probe: SampleProbe | None = None
    """Losses of a list of samples under the policy; only methods that draw by loss need it."""
    policy: LoopPolicy | None = None
    """Your policy, for methods that need more of it: mir, icarl, der, agem, ewc."""
    steps_per_task: int | None = None
    """How long a task is trained; only mir asks."""
    read_ahead: bool = True
    """Read the next step's samples in a thread while the current step is trained on."""
    progress: bool = True
    """Say on standard error what is read, cut, described and kept; of several processes one."""
    rank: int | None = None
    """The number of this process among those that train together; None: torch.distributed's."""
    world_size: int | None = None
    """How many processes train together; None: as `torch.distributed` says, else one."""

    def __post_init__(self) -> None:
        chosen = self.rules
        if chosen.joint:
            raise BadInput("method 'joint' trains on all tasks at once and needs no memory")
        require_policy(chosen, self.policy)
        share, seed = self.rehearsed_share, as_whole(self.seed)
        if not isinstance(share, int | float | np.number) or not 0 <= share < 1:
            raise BadInput(f"rehearsed_share {share!r}; expected 0 or more, below 1")
        if seed is None or not 0 <= seed < 1 << 63:
            raise BadInput(f"seed {self.seed!r}; expected a whole number from 0 to 2**63 - 1")
        object.__setattr__(self, "seed", seed)
        if chosen.keep.keeps_frames and self.budget is None:
            raise BadInput(
                f"how much may {chosen.name!r} keep of a task? Give budget=1000 (frames), "
                "Budget.per_phase(250), Budget.bytes_per_task(50_000_000) or Budget.total(10_000)"
            )
        _ = self.budget_rule
        Ranks.found(self.rank, self.world_size)
        _ = self.image_codec
        if self.store not in ("content", "references"):
            raise UnknownName("store", self.store, ("content", "references"))
        if self.store == "references" and self.budget_rule.unit == "bytes":
            raise BadInput(
                "a budget in bytes counts copied frames, and store='references' copies none; give "
                "a number of frames: budget=1000"
            )

    @property
    def rules(self) -> Method:
        return method_named(self.method) if isinstance(self.method, str) else self.method

    @property
    def budget_rule(self) -> Budget:
        """The budget as one value; of no meaning for a method that keeps nothing."""
        if isinstance(self.budget, Budget):
            return self.budget
        return Budget() if self.budget is None else Budget.given(self.budget)

    @property
    def image_codec(self) -> ImageCodec:
        return self.codec if isinstance(self.codec, ImageCodec) else ImageCodec.parse(self.codec)

    @property
    def stored(self) -> tuple[str, ...]:
        """Names of the tasks that the memory holds, oldest first; a resumed loop skips them."""
        if not self._exists():
            return ()
        return tuple(one.name for one in Store.open(self.folder).tasks)

    def holds(self, instruction: str, *, name: str | None = None) -> bool:
        """True where the memory has the task already; a loop that is run again skips it.

        Args:
            instruction: what the policy is asked to do.
            name: the task's name in the memory, where it was given one.
        """
        task = named_task(instruction, name).name
        if task not in self.stored:
            return False
        ranks = Ranks.found(self.rank, self.world_size)
        Telling.of(task, wanted=self.progress, ranks=ranks).there(self.folder)
        return True

    def task(
        self,
        demos: Any,
        *,
        instruction: str | None = None,
        name: str | None = None,
        start_step: int = 0,
        as_one: bool = False,
    ) -> ReplayTask:
        """Begin a task: read its demonstrations, find its phases, score the stored ones, once.

        Args:
            demos: a map-style dataset whose samples carry episode and frame numbers (LeRobot's
                names, or `columns`), or a list of `Demo`.
            instruction: what the policy is asked to do; left out, the dataset says it.
            name: the task's name in the memory; left out, made from the instruction.
            start_step: the training step at which an interrupted task goes on.
            as_one: take a dataset of several instructions for one task.
        """
        check_probe(self.rules, self.probe, self.policy)
        keep_decoders_in_this_process()
        ranks = Ranks.found(self.rank, self.world_size)
        demos = samples_of(demos, str(name or instruction or "at hand"))
        task = named_task(instruction_for(demos, instruction, self.columns, as_one=as_one), name)
        reading, store = self._open(ranks)
        self._check_new(store, task)
        stored = StoredSamples(store).checked()
        tell = Telling.of(task.name, wanted=self.progress, ranks=ranks).reading()
        recording = read_recording(demos, task=task.name, columns=self.columns, layout=self.layout)
        prepared = self._prepared(task, recording, store, tell)
        choice = self._choice(prepared, recording)
        augmentation = augmentation_of(demos, Streams(self.seed).named("augment", task.name))
        check_answers(choice, stored, self.collate, augmentation, share=self.rehearsed_share)
        penalised, sampler = drawing(self, prepared, recording, stored)
        keep = partial(keep_frames, choice, penalised, self.folder, tell)
        return ReplayTask(
            name=task.name,
            seed=self.seed,
            sampler=sampler,
            stored=stored,
            reading=reading,
            share=self.rehearsed_share,
            collate=self.collate,
            ranks=ranks,
            keep=lambda: ranks.first_alone(keep),
            penalised=penalised,
            step=start_step,
            read_ahead=self.read_ahead,
            augmentation=augmentation,
        )

    def _open(self, ranks: Ranks) -> tuple[Shared, Store]:
        """The memory, and the lock that keeps its files there while they are drawn from."""

        def create() -> None:
            if not self._exists():
                Store.create(self.folder, about=about_memory(self.rules, seed=self.seed))

        ranks.first_alone(create)
        # Before the manifest is read: what it names stays from then on.
        reading = Shared(Path(self.folder) / READING)
        return reading, Store.open(self.folder)

    def _exists(self) -> bool:
        return (Path(self.folder) / MANIFEST).exists()

    def _check_new(self, store: Store, task: Task) -> None:
        if task.name in {one.name for one in store.tasks}:
            raise BadInput(
                f"task {task.name!r} is already in {self.folder}; when resuming, skip tasks "
                "that `replay.holds(instruction)`; for other demonstrations give another name=, or "
                f"remove the old ones: phaser memory forget {self.folder} --task {task.name}"
            )

    def _prepared(
        self, task: Task, recording: Recording, store: Store, tell: Telling
    ) -> PreparedTask:
        tell.cutting(recording)
        prepared = prepare(
            recording,
            task,
            segmenter=segmenter_for(self.phases, task, self.rules, recording),
            method=self.rules,
            encoders=Encoders(language=self.language, vision=self.vision),
            columns=self.columns,
            memory=store.memory,
        )
        if self.phases is None:
            say_if_one_phase(prepared, self.rules)
        tell.begun(prepared, store)
        return prepared

    def _choice(self, task: PreparedTask, recording: Recording) -> Choice:
        refers = self.store == "references" and self.rules.keep.keeps_frames
        source = source_of(
            recording.samples,
            method=self.rules,
            budget=self.budget_rule,
            codec=self.image_codec,
            seed=self.seed,
            phases=self.phases,
        )
        if refers:
            source |= reference_to(recording.samples).source()
        return Choice(
            method=self.rules,
            budget=self.budget_rule,
            codec=self.image_codec,
            task=task,
            recording=recording,
            source=source,
            refers=refers,
            stream=Streams(self.seed).named("keep", task.task.name),
        )
