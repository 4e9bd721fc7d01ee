"""Which weights a backbone starts from, and the folder that they are in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from phaser.core.errors import BadInput, MissingDependency
from phaser.policies.lora import BACKBONES_MISSING

Head = Literal["fresh", "checkpoint"]
_HUB_ID = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
PATTERNS = ("*.safetensors", "*.json", "config*.yaml", "checkpoints/*", "*_checkpoint.pt")
"""The files of a model that are downloaded: no code; .pt files only for `phaser convert`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """The weights that a backbone starts from."""

    checkpoint: str = ""
    """A local folder or a hub id such as openvla/openvla-7b; empty: random weights, of
    which those of a frozen base are the same in every run."""
    revision: str = ""
    """The commit of a hub id, 40 hexadecimal digits, so that every run has the same weights."""
    head: Head = "fresh"
    """"fresh": a new action head, for a base that was not trained on robots' actions of this kind.
    "checkpoint": the checkpoint's own."""

    def __post_init__(self) -> None:
        if self.head not in get_args(Head):
            raise BadInput(f"head {self.head!r}; expected one of {', '.join(get_args(Head))}")
        if self.head == "checkpoint" and not self.checkpoint:
            raise BadInput("head is checkpoint, but no checkpoint is given; set weights.checkpoint")

    def folder(self) -> Path | None:
        """The local folder with the weights, downloaded if need be; None for fresh weights."""
        if not self.checkpoint:
            return None
        path = Path(self.checkpoint).expanduser()
        if path.is_dir():
            return path
        if not _HUB_ID.fullmatch(self.checkpoint):
            raise BadInput(
                f"{self.checkpoint} is no folder and no hub id; expected a folder with "
                "*.safetensors in it, or a name such as openvla/openvla-7b"
            )
        if not _COMMIT.fullmatch(self.revision):
            raise BadInput(
                f"no folder {self.checkpoint}, and as a hub id it needs weights.revision; expected "
                f"a commit of 40 hexadecimal digits, found {self.revision!r}"
            )
        return _downloaded(self.checkpoint, self.revision)


def _downloaded(hub_id: str, revision: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise MissingDependency(BACKBONES_MISSING) from error
    try:
        found: str = snapshot_download(hub_id, revision=revision, allow_patterns=list(PATTERNS))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise BadInput(
            f"cannot download {hub_id} at {revision[:12]}: {str(error).splitlines()[0]}; check the "
            "name and the network, or give a local folder"
        ) from error
    return Path(found)
