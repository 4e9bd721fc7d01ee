"""The phases of one demonstration while a person edits them; every edit gives new marks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.segmentation import Segmentation
from phaser.phases.stages import check_names
from phaser.phases.transfer import Source

Progress = Literal["untouched", "candidate", "verified"]
UNNAMED = "unnamed"
"""The name of a phase that nobody has named yet; another one beside it gets a number."""
LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Marks:
    """Where phases begin, what put each boundary there, what they are called, who looked."""

    num_frames: int
    boundaries: tuple[int, ...] = ()
    """The first frame of every phase but the first."""
    sources: tuple[Source, ...] = ()
    """One for each boundary."""
    names: tuple[str, ...] = ()
    """One more than there are boundaries; none while nobody touched the demonstration."""
    state: Progress = "untouched"
    edited: bool = False
    """True once a person has changed these marks: carried phases then never overwrite them."""

    def __post_init__(self) -> None:
        if (self.state == "untouched") != (not self.names):
            raise BadInput(f"state {self.state!r} with phases {list(self.names)}")
        if len(self.sources) != len(self.boundaries):
            raise BadInput(f"{len(self.boundaries)} boundaries, {len(self.sources)} sources")
        if self.names:
            check_names(self.names)
            self.segmentation()
        elif self.boundaries:
            raise BadInput("boundaries without phases")

    def segmentation(self) -> Segmentation:
        """The phases as others see them."""
        return Segmentation.from_boundaries(
            self.boundaries, num_frames=self.num_frames, labels=self.names
        )

    def with_boundary(
        self, step: int, *, name: str | None = None, source: Source = "human"
    ) -> Marks:
        """A new phase begins at `step`; it ends where the phase that it cuts ended."""
        if not 0 < step < self.num_frames or step in self.boundaries:
            raise BadInput(
                f"no boundary can be set at frame {step}: it must lie inside the demonstration, "
                "where none is yet"
            )
        names = self.names or (UNNAMED,)
        at = bisect_right(self.boundaries, step)
        around = (names[at], *names[at + 1 : at + 2])
        new = _checked_name(name) if name is not None else _fresh(around)
        return replace(
            self,
            boundaries=_inserted(self.boundaries, at, step),
            sources=_inserted(self.sources, at, source),
            names=_inserted(names, at + 1, new),
            edited=True,
            state="candidate" if self.state == "untouched" else self.state,
        )

    def without_boundary(self, step: int) -> Marks:
        """The phase that begins at `step` joins the one before it, which keeps its name."""
        at = self._place(step)
        # A phase between two of one name leaves one phase, so both of its boundaries go.
        same = at + 2 < len(self.names) and self.names[at] == self.names[at + 2]
        after = at + 2 if same else at + 1
        return replace(
            self,
            boundaries=(*self.boundaries[:at], *self.boundaries[after:]),
            sources=(*self.sources[:at], *self.sources[after:]),
            names=(*self.names[: at + 1], *self.names[after + 1 :]),
            edited=True,
        )

    def moved(self, step: int, to: int, *, source: Source = "human") -> Marks:
        """The boundary at `step` is at `to`, between its neighbours, where a person put it."""
        at = self._place(step)
        edges = (0, *self.boundaries, self.num_frames)
        if not edges[at] < to < edges[at + 2]:
            raise BadInput(
                f"a boundary at frame {to} would leave a phase without frames; expected "
                f"{edges[at] + 1} to {edges[at + 2] - 1}"
            )
        return replace(
            self,
            boundaries=(*self.boundaries[:at], to, *self.boundaries[at + 1 :]),
            sources=(*self.sources[:at], source, *self.sources[at + 1 :]),
            edited=True,
        )

    def nudged(self, step: int, by: int) -> Marks:
        """The boundary at `step` is `by` frames later."""
        return self.moved(step, step + by)

    def snapped(self, step: int, candidates: Sequence[int]) -> Marks:
        """The boundary at `step` is at the nearest candidate between its neighbours."""
        at = self._place(step)
        edges = (0, *self.boundaries, self.num_frames)
        free = [one for one in candidates if edges[at] < one < edges[at + 2] and one != step]
        if not free:
            raise BadInput(f"no candidate lies between the neighbours of the boundary at {step}")
        return self.moved(step, min(free, key=lambda one: (abs(one - step), one)))

    def renamed(self, phase: int, name: str) -> Marks:
        """The phase of this number, from 0, has another name."""
        names = self.names or (UNNAMED,)
        if not 0 <= phase < len(names):
            raise BadInput(f"there is no phase {phase + 1}; there are {len(names)}")
        name = _checked_name(name)
        beside = [*names[max(phase - 1, 0) : phase], *names[phase + 1 : phase + 2]]
        if name in beside:
            raise BadInput(
                f"the phase beside it is {name!r} too; delete the boundary between them instead"
            )
        return replace(
            self,
            names=(*names[:phase], name, *names[phase + 1 :]),
            edited=True,
            state="candidate" if self.state == "untouched" else self.state,
        )

    def verified(self) -> Marks:
        """A person has looked and agrees."""
        left = [name for name in self.names if name.startswith(UNNAMED)]
        if left or not self.names:
            raise BadInput("name every phase before you verify the demonstration")
        return replace(self, state="verified")

    def reopened(self) -> Marks:
        """To be looked at again."""
        if self.state != "verified":
            raise BadInput("only a verified demonstration can be opened again")
        return replace(self, state="candidate")

    def _place(self, step: int) -> int:
        if step not in self.boundaries:
            raise BadInput(f"there is no boundary at frame {step}")
        return self.boundaries.index(step)


def marks_to_json(marks: Marks) -> dict[str, Any]:
    """The form of the journal and of the page."""
    return {
        "num_frames": marks.num_frames,
        "boundaries": list(marks.boundaries),
        "sources": list(marks.sources),
        "names": list(marks.names),
        "state": marks.state,
        "edited": marks.edited,
    }


def marks_from_json(value: Any, where: str) -> Marks:
    """Marks out of a journal; whatever is wrong with them is a broken file."""
    keys = ("num_frames", "boundaries", "sources", "names", "state", "edited")
    if not isinstance(value, dict) or sorted(value) != sorted(keys):
        raise BrokenFile(f"{where}: marks {str(value)[:80]}; expected {', '.join(keys)}")
    lists = [value[name] for name in ("boundaries", "sources", "names")]
    if not all(isinstance(one, list) for one in lists) or not all(
        (
            isinstance(value["num_frames"], int),
            all(isinstance(one, int) for one in value["boundaries"]),
            all(one in get_args(Source) for one in value["sources"]),
            all(isinstance(one, str) for one in value["names"]),
            value["state"] in get_args(Progress),
            isinstance(value["edited"], bool),
        )
    ):
        raise BrokenFile(f"{where}: marks {str(value)[:80]} are of the wrong types")
    try:
        return Marks(
            num_frames=value["num_frames"],
            boundaries=tuple(value["boundaries"]),
            sources=tuple(value["sources"]),
            names=tuple(value["names"]),
            state=value["state"],
            edited=value["edited"],
        )
    except BrokenFile:
        raise
    except BadInput as error:
        raise BrokenFile(f"{where}: {error}") from error


def _inserted(values: Sequence[Any], at: int, value: Any) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at:])


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadInput(f"a phase's name has 1 to {LONGEST_NAME} letters that can be printed")
    return name


def _fresh(around: Sequence[str]) -> str:
    taken, number = set(around), 1
    while (name := UNNAMED if number == 1 else f"{UNNAMED}_{number}") in taken:
        number += 1
    return name
