"""The budget of a memory: so many frames or encoded bytes, per task, per phase or in total.

With a total, a new task makes the older ones give way: every phase keeps its floor, the rest
shrinks evenly over the tasks, and the keep rule's own order decides which frames go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from phaser.core.errors import BadInput
from phaser.core.memory import Bucket, Memory, PreparedTask
from phaser.core.ports import Keep, Sizes
from phaser.core.ranges import as_whole
from phaser.core.streams import Stream
from phaser.memory.byte_budget import within_bytes
from phaser.memory.water_level import level_for, levelled

Unit = Literal["frames", "bytes"]
Per = Literal["task", "phase", "memory"]


EMPTY = Memory()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Kept:
    """The outcome of keeping a task: its own buckets, and the memory with them."""

    buckets: tuple[Bucket, ...]
    memory: Memory
    evicted: dict[str, int]
    """Frames that older tasks gave up, by task; only tasks that gave up some."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """How much a memory may hold."""

    amount: int = 20
    """A number of frames, or of encoded bytes."""
    unit: Unit = "frames"
    """"frames" or "bytes"."""
    per: Per = "task"
    """What the amount is for: every "task", every "phase" of a task, or the whole "memory"."""
    floor: int = 1
    """Frames that every phase keeps when a total makes older tasks give way."""

    def __post_init__(self) -> None:
        for name, value, known in (("unit", self.unit, Unit), ("per", self.per, Per)):
            if value not in get_args(known):
                raise BadInput(f"{name} {value!r}; expected one of {', '.join(get_args(known))}")
        for name in ("amount", "floor"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        if (self.unit, self.per) == ("bytes", "phase"):
            raise BadInput("a budget in bytes per phase; give bytes per task or in total")

    @classmethod
    def per_task(cls, frames: int) -> Budget:
        """So many frames of every task."""
        return cls(amount=frames)

    @classmethod
    def given(cls, frames: object) -> Budget:
        """So many frames of every task, whatever kind of number a user gives."""
        return cls(amount=_whole("amount", frames))

    @classmethod
    def per_phase(cls, frames: int) -> Budget:
        """So many frames for every phase of a task, K of the paper."""
        return cls(amount=frames, per="phase")

    @classmethod
    def bytes_per_task(cls, num_bytes: int) -> Budget:
        """As many frames of every task as fit into so many encoded bytes."""
        return cls(amount=num_bytes, unit="bytes")

    @classmethod
    def total(cls, frames: int, *, floor: int = 1) -> Budget:
        """So many frames in all, however many tasks there are; older tasks give way.

        Args:
            frames: the most frames that the memory holds.
            floor: frames that every phase keeps.
        """
        return cls(amount=frames, per="memory", floor=floor)

    @classmethod
    def total_bytes(cls, num_bytes: int, *, floor: int = 1) -> Budget:
        """As many frames in all as fit into so many encoded bytes; older tasks give way.

        Args:
            num_bytes: the most encoded bytes that the memory holds.
            floor: frames that every phase keeps.
        """
        return cls(amount=num_bytes, unit="bytes", per="memory", floor=floor)

    def __str__(self) -> str:
        where = {"task": "per task", "phase": "per phase", "memory": "in total"}[self.per]
        return f"{self.amount} {self.unit} {where}"

    @property
    def slug(self) -> str:
        """Part of a folder's name: 20, 5phase, 20000bytes, 400total, 90000bytestotal."""
        unit = "" if self.unit == "frames" else self.unit
        where = {"task": "", "phase": "phase", "memory": "total"}[self.per]
        return f"{self.amount}{unit}{where}"

    @property
    def is_total(self) -> bool:
        """True where the amount is for the whole memory."""
        return self.per == "memory"

    def keep(
        self,
        rule: Keep,
        task: PreparedTask,
        memory: Memory = EMPTY,
        *,
        stream: Stream,
        sizes: Sizes | None = None,
    ) -> Kept:
        """Choose the frames of a task within the budget.

        Args:
            rule: decides which frames stay.
            task: the finished task.
            memory: what the earlier tasks left; with a total they may have to give way.
            stream: the source of random numbers, for rules that choose at random.
            sizes: encoded bytes of frames, new or stored; needed for a budget in bytes.
        """
        if not rule.keeps_frames:
            return Kept(buckets=(), memory=memory, evicted={})
        try:
            if self.is_total:
                return self._keep_in_total(rule, task, memory, stream=stream, sizes=sizes)
            buckets = self._keep_of_task(rule, task, stream=stream, sizes=sizes)
        except BadInput as error:
            where = f"task {task.task.name!r}: "
            text = str(error)
            raise BadInput(text if text.startswith(where) else where + text) from error
        return Kept(buckets=tuple(buckets), memory=memory.with_buckets(buckets), evicted={})

    def _keep_of_task(
        self, rule: Keep, task: PreparedTask, *, stream: Stream, sizes: Sizes | None
    ) -> list[Bucket]:
        if self.unit == "bytes":
            return within_bytes(
                self.amount,
                lambda count: rule.select(task, count, stream),
                _required(sizes),
                rule.most(task),
                least=rule.fewest(len(task.labels)),
            )
        phases = len(task.labels) if self.per == "phase" else 1
        return rule.select(task, self.amount * phases, stream)

    def _keep_in_total(
        self,
        rule: Keep,
        task: PreparedTask,
        memory: Memory,
        *,
        stream: Stream,
        sizes: Sizes | None,
    ) -> Kept:
        older = memory.by_task()
        held = [sum(len(bucket.frames) for bucket in buckets) for buckets in older.values()]
        most = [*held, rule.most(task)]
        floors = [self.floor * rule.fewest_of(buckets) for buckets in older.values()]
        floors.append(self.floor * rule.fewest(len(task.labels)))
        least = [min(pair) for pair in zip(floors, most, strict=True)]

        def at_level(counts: Sequence[int]) -> list[list[Bucket]]:
            shrunk = [
                buckets if count == number else rule.shrink(buckets, count)
                for buckets, count, number in zip(older.values(), counts[:-1], held, strict=True)
            ]
            return [*shrunk, rule.select(task, counts[-1], stream)]

        if self.unit == "frames":
            found = at_level(level_for(self.amount, least=least, most=most))
        else:
            found = _within_total_bytes(self.amount, at_level, least, most, _required(sizes))
        kept = [sum(len(bucket.frames) for bucket in buckets) for buckets in found[:-1]]
        return Kept(
            buckets=tuple(found[-1]),
            memory=Memory(tuple(bucket for buckets in found for bucket in buckets)),
            evicted={
                name: before - after
                for name, before, after in zip(older, held, kept, strict=True)
                if after < before
            },
        )


def _within_total_bytes(
    budget_bytes: int,
    at_level: Callable[[Sequence[int]], list[list[Bucket]]],
    least: Sequence[int],
    most: Sequence[int],
    sizes: Sizes,
) -> list[list[Bucket]]:
    """The frames at the highest level that fits, task by task."""

    def select(level: int) -> list[Bucket]:
        found = at_level(levelled(level, least=least, most=most))
        return [bucket for buckets in found for bucket in buckets]

    fitting = within_bytes(budget_bytes, select, sizes, max(most))
    return list(Memory(tuple(fitting)).by_task().values())


def _whole(name: str, value: object) -> int:
    whole = as_whole(value)
    if whole is None or not 1 <= whole < 1 << 63:
        raise BadInput(
            f"a budget with {name} {value!r}; expected a whole number of at least 1 and below "
            "2**63 (the method `sequential` keeps nothing)"
        )
    return whole


def _required(sizes: Sizes | None) -> Sizes:
    if sizes is None:
        raise BadInput("a budget in bytes needs the encoded size of frames: pass sizes")
    return sizes
