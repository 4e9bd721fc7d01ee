"""QwenOFT as a policy: the hidden states at eight marks of the prompt become eight actions."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from phaser.core.streams import Stream
from phaser.policies.parts.backbone import mean_over_valid
from phaser.policies.parts.inputs import Inputs
from phaser.policies.parts.mlp_resnet import RegressionHead
from phaser.policies.parts.prompts import ACTION_MARK, starvla_prompt
from phaser.policies.parts.qwen_policy import QwenPolicy, last_places
from phaser.policies.qwen_oft.settings import QwenOft


class QwenOftPolicy(QwenPolicy):
    """Call it with a batch for the mean absolute error of each sample."""

    name = "qwen-oft"
    settings: QwenOft
    action_model: RegressionHead

    def forward(self, batch: Inputs, noise: Stream) -> Float[Tensor, "rows"]:
        """The mean absolute error of each sample over the valid part of its chunk."""
        return mean_over_valid((self._chunks(batch, None) - batch.actions).abs(), batch)

    def features(self, batch: Inputs) -> Float[Tensor, "rows width"]:
        """The mean over the marks of what the head reads."""
        return self._read(batch).mean(1)

    def _chunks(self, batch: Inputs, start: Tensor | None) -> Float[Tensor, "rows chunk action"]:
        said: Tensor = self.action_model(self._read(batch))
        return said

    def _read(self, batch: Inputs) -> Float[Tensor, "rows chunk width"]:
        """Hidden states at the last marks, one for each action of the chunk."""
        hidden = self._hidden(batch)
        marked = batch.tensors["input_ids"] == self._mark_id()
        places = last_places(marked, self.chunk_length)
        return torch.take_along_dim(hidden, places[..., None], dim=1)

    def _mark_id(self) -> int:
        first: int = self._tokenizer().encode(ACTION_MARK, add_special_tokens=False).ids[0]
        return first

    def _head(self) -> RegressionHead:
        return RegressionHead(
            input_width=self.settings.shape.text.width,
            hidden_width=self.settings.head_width,
            action_size=len(self.suite.action),
        )

    def _text(self, instruction: str) -> str:
        return starvla_prompt(
            instruction, template=self.settings.prompt, num_marks=self.chunk_length
        )
