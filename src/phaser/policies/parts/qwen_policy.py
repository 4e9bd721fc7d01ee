"""The base of the two starVLA backbones: Qwen2.5-VL, its inputs, its last hidden states."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from phaser.core.contract import Contract
from phaser.core.samples import Samples
from phaser.core.streams import Stream
from phaser.policies.loading.key_map import KeyMap
from phaser.policies.loading.reading import load_strictly, weight_files
from phaser.policies.loading.writing import write_shards
from phaser.policies.parts.backbone import BackbonePolicy, seeded
from phaser.policies.parts.inputs import Inputs
from phaser.policies.parts.language_models import qwen
from phaser.policies.parts.qwen_inputs import image_tensors, text_tensors, word_ids
from phaser.policies.parts.qwen_settings import QwenSettings
from phaser.policies.parts.tokens import lazy_tokenizer

TIED = "lm_head.weight"
_PLACES = (
    ("model.language_model.", "model.language_model."),
    ("model.visual.", "model.visual."),
    ("visual.", "model.visual."),
    ("model.", "model.language_model."),
    ("lm_head.", "lm_head."),
)
"""Names in Qwen's files, new and old, with the network's."""
BASE = KeyMap(
    prefixes=(
        *((f"qwen_vl_interface.model.{there}", here) for there, here in _PLACES),
        *_PLACES,
    ),
    ignored=(r"action_model\..*",),
    optional=(TIED,),
)
HEAD = KeyMap(prefixes=(("action_model.", ""),), ignored=(r"qwen_vl_interface\..*",))


class QwenPolicy(BackbonePolicy):
    """Qwen2.5-VL with LoRA; subclasses add the head `action_model`."""

    settings: QwenSettings
    action_model: nn.Module

    def __init__(self, settings: QwenSettings, contract: Contract, stream: Stream) -> None:
        super().__init__(settings, contract)
        size = settings.shape
        self._tokenizer = lazy_tokenizer(self.folder, size.tokens)
        ids = word_ids(size.tokens)
        self.vlm = self._base(lambda: qwen(size, ids), stream, BASE)
        self.vlm.tie_weights()  # type: ignore[operator]
        with seeded(stream, 1):
            self._adapt(unused=lambda name: name.startswith("lm_head"))
        with seeded(stream, 2):
            self.action_model = self._head()
        if self.folder is not None and settings.weights.head == "checkpoint":
            self._load_head(self.folder)
        self._settle()

    @abstractmethod
    def _head(self) -> nn.Module:
        """The action head, with fresh weights."""

    def _hidden(self, batch: Inputs) -> Float[Tensor, "rows tokens width"]:
        """Last hidden states of all tokens, in float32; the word predictor is never computed."""
        model: Any = self.vlm.model
        with self.in_precision():
            hidden: Tensor = model(**batch.tensors, use_cache=False).last_hidden_state
        return hidden.float()

    def _tensors(
        self, samples: Samples, places: Int[np.ndarray, "rows"], augment: Stream | None
    ) -> dict[str, Tensor]:
        size = self.settings.shape.vision.image_size
        text = text_tensors(
            self._tokenizer(),
            [self._text(one) for one in samples.instructions],
            num_images=len(self.cameras),
            image_size=size,
        )
        images = image_tensors(
            [samples.images[name] for name in self.cameras], self.settings.images, size=size
        )
        return {name: one.to(self.device) for name, one in {**text, **images}.items()}

    @abstractmethod
    def _text(self, instruction: str) -> str:
        """The user's words in the chat."""

    def _seen_as(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "size": settings.size,
            "images": {"size": settings.shape.vision.image_size, **asdict(settings.images)},
            "prompt": settings.prompt,
        }

    def _write_published(self, folder: Path) -> None:
        base = {
            str(BASE.published(name)): one
            for name, one in self.vlm.state_dict().items()
            if name not in BASE.optional
        }
        head = {
            str(HEAD.published(name)): one for name, one in self.action_model.state_dict().items()
        }
        write_shards(folder, {**base, **head})

    def _load_head(self, folder: Path) -> None:
        load_strictly(self.action_model, weight_files(folder), HEAD, device="cpu")
        self.action_model.float()


def mean_token(
    hidden: Float[Tensor, "rows tokens width"], counted: Bool[Tensor, "rows tokens"]
) -> Float[Tensor, "rows width"]:
    """The mean over the tokens that count."""
    weight = counted[..., None].to(hidden.dtype)
    return (hidden * weight).sum(1) / weight.sum(1)


def last_places(marked: Bool[Tensor, "rows tokens"], count: int) -> Int[Tensor, "rows count"]:
    """Places of the last `count` marked tokens of each row, in order."""
    order = torch.arange(marked.shape[1], device=marked.device)
    return torch.where(marked, order, -1).topk(count, dim=1).values.flip(1)
