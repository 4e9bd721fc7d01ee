"""The form that all frames of a task share: the same keys, the same types; their order is free."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from phaser.core.demonstration import FrameRef
from phaser.core.errors import BadInput
from phaser.memory.sample import NewTask, Sample
from phaser.memory.sample_tree import Leaf, LeafKind, Node, leaf_paths, split


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SampleForm:
    """What the first frame of a task looks like, and so all others have to."""

    first: FrameRef
    node: Node
    kinds: tuple[LeafKind, ...]

    @classmethod
    def of(cls, ref: FrameRef, sample: Sample) -> SampleForm:
        node, leaves = split(sample)
        return cls(first=ref, node=node, kinds=tuple(leaf.kind for leaf in leaves))

    def leaves(self, ref: FrameRef, sample: Sample) -> list[Leaf]:
        """The leaves of a frame of this form; BadInput says where it differs."""
        try:
            node, leaves = split(sample, self.node)
        except BadInput as error:
            raise BadInput(f"frame {ref.frame} of episode {ref.demo}: {error}") from error
        kinds = tuple(leaf.kind for leaf in leaves)
        if node != self.node or kinds != self.kinds:
            raise BadInput(self._difference(ref, node, kinds))
        return leaves

    def _difference(self, ref: FrameRef, node: Node, kinds: Sequence[LeafKind]) -> str:
        before = dict(zip(leaf_paths(self.node), self.kinds, strict=True))
        after = dict(zip(leaf_paths(node), kinds, strict=True))
        path = next((p for p in {**before, **after} if before.get(p) != after.get(p)), None)
        told = "its nesting" if path is None else f"{path!r}"
        expected, found = (
            "nothing" if path is None or path not in where else str(where[path])
            for where in (before, after)
        )
        return (
            f"frame {ref.frame} of episode {ref.demo} differs from frame {self.first.frame} of "
            f"episode {self.first.demo} at {told}: {found} instead of {expected}; all frames of a "
            "task need the same keys and types"
        )


def check_forms(new: NewTask) -> None:
    """Refuse frames that could not be stored together; nothing is encoded or written."""
    refs: Iterable[FrameRef] = (ref for bucket in new.buckets for ref in bucket.frames)
    form: SampleForm | None = None
    for ref in refs:
        sample = new.sample_of(ref)
        form = form or SampleForm.of(ref, sample)
        form.leaves(ref, sample)
