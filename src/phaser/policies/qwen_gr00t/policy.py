"""QwenGR00T as a policy: flow matching with common random numbers for each sample."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jaxtyping import Float
from torch import Tensor

from phaser.core.streams import Stream
from phaser.policies.parts.backbone import mean_over_valid
from phaser.policies.parts.flow_head import FlowHead, FlowNoise
from phaser.policies.parts.inputs import Inputs
from phaser.policies.parts.prompts import starvla_prompt
from phaser.policies.parts.qwen_policy import QwenPolicy, mean_token
from phaser.policies.qwen_gr00t.settings import HEADS, QwenGr00t


class QwenGr00tPolicy(QwenPolicy):
    """Call it with a batch for the mean squared error of the velocity of each sample."""

    name = "qwen-gr00t"
    settings: QwenGr00t
    action_model: FlowHead

    def forward(self, batch: Inputs, noise: Stream) -> Float[Tensor, "rows"]:
        """The velocity's error over the valid part of each chunk; a row's noise is its place's."""
        drawn = FlowNoise.drawn(
            noise,
            batch.places,
            repeats=self.settings.noise_repeats,
            shape=(self.chunk_length, len(self.suite.action)),
            device=self.device,
        )
        errors = self.action_model.losses(
            self._hidden(batch),
            batch.tensors["attention_mask"].bool(),
            actions=batch.actions,
            states=self._states(batch),
            noise=drawn,
        )
        return mean_over_valid(errors, batch)

    def features(self, batch: Inputs) -> Float[Tensor, "rows width"]:
        """The mean over the tokens that the head attends to."""
        return mean_token(self._hidden(batch), batch.tensors["attention_mask"].bool())

    def _chunks(self, batch: Inputs, start: Tensor) -> Float[Tensor, "rows chunk action"]:
        return self.action_model.sample(
            self._hidden(batch),
            batch.tensors["attention_mask"].bool(),
            start=start,
            states=self._states(batch),
            num_steps=self.settings.euler_steps,
        )

    def _head(self) -> FlowHead:
        settings = self.settings
        size = HEADS[settings.size]
        head = FlowHead(
            replace(size, dit=replace(size.dit, interleaved=settings.interleaved)),
            context_width=settings.shape.text.width,
            action_size=len(self.suite.action),
            state_size=len(self.suite.state),
            dropout=settings.head_dropout,
        )
        # Not fed, so it would have no gradient.
        head.state_encoder.requires_grad_(settings.use_state)
        return head

    def _states(self, batch: Inputs) -> Float[Tensor, "rows state"] | None:
        return batch.states if self.settings.use_state else None

    def _text(self, instruction: str) -> str:
        return starvla_prompt(instruction, template=self.settings.prompt)

    def _seen_as(self) -> dict[str, Any]:
        return {**super()._seen_as(), "use_state": self.settings.use_state}
