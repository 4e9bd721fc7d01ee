"""Several processes train one policy: one global draw, a disjoint slice for each, one writer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from phaser.core.errors import BadInput, PhaserError
from phaser.core.ranges import as_whole
from phaser.replay.tensors import all_processes, process_rank

Drawn = TypeVar("Drawn")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranks:
    """This process among all that train together."""

    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        rank, world_size = as_whole(self.rank), as_whole(self.world_size)
        if rank is None or world_size is None or not 0 <= rank < world_size:
            raise BadInput(
                f"rank {self.rank!r} of {self.world_size!r}; expected 0 to world_size - 1"
            )

    @classmethod
    def found(cls, rank: int | None, world_size: int | None) -> Ranks:
        """The given rank and world size, else those of `torch.distributed`, else one process."""
        if (rank is None) != (world_size is None):
            raise BadInput(f"rank {rank}, world_size {world_size}; give both or neither")
        if rank is None or world_size is None:
            rank, world_size = process_rank()
        return cls(rank=rank, world_size=world_size)

    def slice(self, drawn: Sequence[Drawn]) -> Sequence[Drawn]:
        """This process's part of a global draw."""
        return drawn[self.rank :: self.world_size]

    def first_alone(self, write: Callable[[], None]) -> None:
        """Rank 0 writes once all are here; the others go on when it is written, or fail with it."""
        all_processes(True)
        written = False
        try:
            if self.rank == 0:
                write()
            written = True
        finally:
            everywhere = all_processes(written)
        if not everywhere:
            raise PhaserError("the process of rank 0 could not write the memory; see its message")
