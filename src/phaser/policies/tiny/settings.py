"""Settings of the tiny policy, which sees through a frozen encoder and is trained in a minute.

Image maps are frozen, so they are computed once per recording (its front end) and only the read-out
is trained; with `train_encoder` the pixels themselves are the input and a small convolutional
network is trained along. Torch is imported when the policy is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from phaser.core.contract import Contract
from phaser.core.errors import BadInput
from phaser.core.policy import FrontEnd
from phaser.core.ranges import COUNT, check_ranges
from phaser.core.streams import Stream

if TYPE_CHECKING:
    from phaser.policies.tiny.policy import TinyPolicy


@dataclass(frozen=True, kw_only=True, slots=True)
class Tiny:
    """Settings of the tiny policy."""

    head: Literal["regression", "flow"] = "regression"
    """"regression": L1 on the chunk. "flow": flow matching, a stochastic policy."""
    train_encoder: bool = False
    """Train a small network from pixels instead of reading frozen EfficientNet maps."""
    fine_cameras: tuple[str, ...] | None = None
    """Cameras whose finer map (stride 8) is read beside the coarser one (stride 16); none: all."""
    chunk_length: int = 8
    """Actions that the policy gives at once."""
    channels: int = 24
    """Channels that are read of each map."""
    width: int = 256
    """Width of the hidden layers."""

    def __post_init__(self) -> None:
        if self.head not in ("regression", "flow"):
            raise BadInput(f"head {self.head!r}; expected 'regression' or 'flow'")
        check_ranges(self, chunk_length=COUNT, channels=COUNT, width=COUNT)

    def build(self, contract: Contract, stream: Stream) -> TinyPolicy:
        """A policy with fresh weights for a suite's observations; the stream fixes the weights."""
        import torch

        from phaser.policies.tiny.policy import TinyPolicy

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(stream.integer())
            return TinyPolicy(self, contract)

    def front_end(self, contract: Contract) -> FrontEnd:
        from phaser.encoders.maps import EfficientNetMaps, PlainPixels

        if not contract.cameras:
            raise BadInput(
                "the tiny policy sees through cameras, but the demonstrations have no images; "
                "give demonstrations with images, or another --policy"
            )
        if self.train_encoder:
            return PlainPixels(cameras=contract.cameras)
        fine = contract.cameras if self.fine_cameras is None else self.fine_cameras
        unknown = set(fine) - set(contract.cameras)
        if unknown:
            raise BadInput(
                f"fine_cameras names {', '.join(sorted(unknown))}; "
                f"the suite has {', '.join(contract.cameras)}"
            )
        return EfficientNetMaps(cameras=contract.cameras, fine_cameras=fine)
