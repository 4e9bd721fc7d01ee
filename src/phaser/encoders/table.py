"""Encoders by name: a setting of preparation, shared by `run` and `Replay`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from phaser.core.encoders import LanguageEncoder, VisionEncoder
from phaser.core.errors import BadInput, UnknownName
from phaser.core.extras import libraries_for
from phaser.core.tables import Table

POLICY = "policy"
"""The vision encoder of this name is the policy itself, as it is when a task begins: the paper's
choice for OpenVLA. It has no entry in the table."""


def _libraries_of_the_extra() -> AbstractContextManager[None]:
    return libraries_for("our frozen encoders", otherwise=", or give encoders of your own")


def _minilm() -> LanguageEncoder:
    with _libraries_of_the_extra():
        from phaser.encoders.minilm import MiniLM

    return MiniLM()


def _efficientnet(cameras: Sequence[str]) -> VisionEncoder:
    with _libraries_of_the_extra():
        from phaser.encoders.maps import EfficientNetMaps

    return EfficientNetMaps(cameras=tuple(cameras), fine_cameras=tuple(cameras))


LANGUAGE: Table[Callable[[], LanguageEncoder]] = Table(
    kind="language encoder", group="phaser.language_encoders", own={"minilm": _minilm}
)
VISION: Table[Callable[[Sequence[str]], VisionEncoder]] = Table(
    kind="vision encoder",
    group="phaser.vision_encoders",
    own={"efficientnet-lite0": _efficientnet},
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoders:
    """What describes a phase: its instruction and its sight as vectors, by frozen networks."""

    language: str = "minilm"
    """A language encoder by name; instructions are compared by its vectors."""
    vision: str = "efficientnet-lite0"
    """A vision encoder by name, or "policy": the policy's own features, anew for every task."""

    def __post_init__(self) -> None:
        LANGUAGE.require(self.language)
        if self.vision != POLICY and self.vision not in VISION:
            raise UnknownName("vision encoder", self.vision, [*VISION, POLICY])

    @property
    def is_policy(self) -> bool:
        """True where the policy itself is the vision encoder."""
        return self.vision == POLICY

    def build_language(self) -> LanguageEncoder:
        return LANGUAGE[self.language]()

    def build_vision(self, cameras: Sequence[str]) -> VisionEncoder:
        """The frozen encoder of these cameras; the default one where the policy describes phases,
        since rules that compare frames need vectors before anything is learnt."""
        if not cameras:
            raise BadInput(
                f"the vision encoder {self.vision!r} describes images, but the demonstrations have "
                "none; give demonstrations with images"
            )
        name = Encoders().vision if self.is_policy else self.vision
        return VISION[name](cameras)
