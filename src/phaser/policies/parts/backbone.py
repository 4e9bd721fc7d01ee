"""The part of the policy port that all backbones share: batches, acting, trained weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from phaser.core.contract import Contract
from phaser.core.errors import BadInput
from phaser.core.policy import Observation, ParameterGroup
from phaser.core.samples import Samples
from phaser.core.streams import Stream, Streams
from phaser.policies import adapter_folder
from phaser.policies.loading.key_map import KeyMap, listed
from phaser.policies.loading.reading import load_strictly, weight_files
from phaser.policies.loading.writing import write_meaning
from phaser.policies.lora import MARK, add_adapters, merge_adapters, without_adapters
from phaser.policies.parts.backbone_settings import BackboneSettings
from phaser.policies.parts.inputs import (
    Inputs,
    cameras_read,
    check_samples,
    held_at_end,
    observed,
)
from phaser.policies.parts.ranges import Ranges
from phaser.policies.parts.row_noise import places_of
from phaser.policies.parts.statistics_file import statistics_of
from phaser.policies.parts.vision_transformer import VisionTransformer

Made = TypeVar("Made", bound=nn.Module)


class BackbonePolicy(nn.Module):
    """A policy on a large frozen base; subclasses build the network and read it."""

    name: ClassVar[str]
    front_end = None
    offers: ClassVar[frozenset[str]] = frozenset({"features", "outputs"})
    """Optional methods of the port that every backbone has."""
    settings: BackboneSettings
    vlm: nn.Module
    """The base, with adapters beside its linear layers."""

    def __init__(self, settings: BackboneSettings, contract: Contract) -> None:
        super().__init__()
        self.settings = settings
        self.chunk_length = settings.chunk_length
        self.compute = settings.compute
        self.lora = settings.lora
        self.folder = settings.weights.folder()
        self.cameras = cameras_read(contract, settings.num_cameras, self.name)
        actions, states = statistics_of(settings.scaling, contract, self.folder)
        self.suite = replace(contract, action_statistics=actions, state_statistics=states)
        self.ranges = Ranges(settings.scaling, self.suite, actions=actions, states=states)

    @property
    def contract(self) -> dict[str, Any]:
        """The suite's contract, and all that decides what the network sees and says."""
        scaling = self.settings.scaling
        return {
            **self.suite.to_json(),
            "policy": self.name,
            "chunk_length": self.chunk_length,
            "cameras_read": list(self.cameras),
            "scaling": {"rule": scaling.rule, "gripper": scaling.gripper},
            "lora": None if self.lora is None else asdict(self.lora),
            **self._seen_as(),
        }

    @property
    def device(self) -> torch.device:
        return self.ranges.low.device

    def batch(self, samples: Samples, *, augment: Stream | None = None) -> Inputs:
        """The one input builder, for training and acting."""
        check_samples(samples, self.suite, cameras=self.cameras, chunk_length=self.chunk_length)
        places = places_of(samples)
        actions = self._moved(held_at_end(samples)).float()
        return Inputs(
            tensors=self._tensors(samples, places, augment),
            states=self.ranges.states_in(self._moved(samples.states).float()),
            actions=self.ranges.actions_in(actions) if actions.shape[1] else actions,
            valid=self._moved(samples.valid),
            places=places,
        )

    @torch.no_grad()
    def act(
        self, observations: Sequence[Observation], streams: Sequence[Stream]
    ) -> Float[np.ndarray, "count chunk action"]:
        """A chunk for each observation in the suite's units, `compute.act_rows` at a time."""
        training, rows = self.training, self.compute.act_rows
        self.eval()
        try:
            said = [
                self._chunks(
                    self.batch(observed(observations[at : at + rows], self.cameras)),
                    self._starts(streams[at : at + rows]),
                )
                for at in range(0, len(observations), rows)
            ]
        finally:
            self.train(training)
        return self.ranges.actions_out(torch.cat(said), decided=True).cpu().numpy()

    def outputs(self, batch: Inputs) -> Float[Tensor, "rows chunk action"]:
        """The chunk of each sample from zero noise, in the suite's units, with gradients."""
        shape = (len(batch), self.chunk_length, len(self.suite.action))
        return self.ranges.actions_out(self._chunks(batch, torch.zeros(shape, device=self.device)))

    @abstractmethod
    def features(self, batch: Inputs) -> Float[Tensor, "rows width"]:
        """One vector for each sample: the mean of what the head reads."""

    @torch.no_grad()
    def frozen_features(self, batch: Inputs) -> Float[Tensor, "rows width"]:
        """The features of the base without its adapters, which no training changes."""
        with without_adapters(self.vlm):
            return self.features(batch)

    def trained_state(self) -> dict[str, Tensor]:
        """Adapters, head and projectors by name; never the frozen base."""
        return {name: one.detach() for name, one in self.named_parameters() if one.requires_grad}

    @torch.no_grad()
    def load_trained_state(self, weights: Mapping[str, Tensor]) -> None:
        """Put weights of `trained_state` back, bit by bit."""
        own = self.trained_state()
        missing, unknown = own.keys() - weights.keys(), weights.keys() - own.keys()
        if missing or unknown:
            raise BadInput(
                f"weights of another policy: {len(missing)} missing ({listed(missing)}), "
                f"{len(unknown)} unknown ({listed(unknown)}); expected those of {self.name} with "
                "the same settings"
            )
        for name, weight in own.items():
            if weight.shape != weights[name].shape:
                raise BadInput(
                    f"{name} has shape {list(weights[name].shape)}, expected {list(weight.shape)}; "
                    "the policy was built with other settings"
                )
            weight.copy_(weights[name])

    def parameter_groups(self) -> list[ParameterGroup]:
        """Adapters (or the whole base) and the head, each with its share of the learning rate."""
        settings = self.settings
        scales = (settings.base_learning_rate_scale, settings.head_learning_rate_scale)
        groups: tuple[list[nn.Parameter], list[nn.Parameter]] = ([], [])
        for name, weight in self.named_parameters():
            if weight.requires_grad:
                groups[0 if name.startswith("vlm.") else 1].append(weight)
        return [
            ParameterGroup(parameters=weights, learning_rate_scale=scale, betas=settings.betas)
            for weights, scale in zip(groups, scales, strict=True)
            if weights
        ]

    def save_adapter(self, folder: Path) -> None:
        """Adapters, head, statistics and contract in one folder of safetensors and JSON."""
        adapter_folder.save(self, folder)

    def load_adapter(self, folder: Path) -> None:
        """Take up what `save_adapter` wrote; another contract or a damaged file is refused."""
        adapter_folder.load(self, folder)

    def merge(self) -> None:
        """Put the adapters into the base for deployment; afterwards only the head is trained."""
        merge_adapters(self.vlm)

    def export(self, folder: Path) -> None:
        """Write the whole merged network in the published layout, with statistics and contract."""
        if any(MARK in name for name, _ in self.named_parameters()):
            raise BadInput("the policy still has adapters; merge() it before export")
        self._write_published(folder)
        write_meaning(folder, self.contract, self.suite)

    def in_precision(self) -> AbstractContextManager[Any]:
        """The precision in which the base computes."""
        if self.compute.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    @abstractmethod
    def _write_published(self, folder: Path) -> None:
        """Write all weights under their published names."""

    @abstractmethod
    def _seen_as(self) -> dict[str, Any]:
        """All other settings that change what inputs mean, such as images and prompt; as JSON."""

    @abstractmethod
    def _tensors(
        self, samples: Samples, places: Int[np.ndarray, "rows"], augment: Stream | None
    ) -> dict[str, Tensor]:
        """Pixels, tokens and masks."""

    @abstractmethod
    def _chunks(
        self, batch: Inputs, start: Float[Tensor, "rows chunk action"]
    ) -> Float[Tensor, "rows chunk action"]:
        """The network's own output, from this noise where it is stochastic."""

    def _starts(self, streams: Sequence[Stream]) -> Float[Tensor, "rows chunk action"]:
        shape = (self.chunk_length, len(self.suite.action))
        noise = np.stack([one().standard_normal(shape) for one in streams])
        return self._moved(noise).float()

    def _moved(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def _base(self, make: Callable[[], Made], stream: Stream, keys: KeyMap) -> Made:
        """The base with a checkpoint's weights, or with random ones.

        A frozen base is no part of what is trained and saved, so a random one is the same for
        every stream, as a published one would be.
        """
        if self.folder is None:
            fixed = Streams(0).named("frozen base", self.name)
            with seeded(stream if self.lora is None else fixed, 0):
                made = make()
            for weight in made.parameters():
                # Buffers, such as tables of rotations, keep their own precision.
                weight.data = weight.data.to(self._base_dtype)
            return made
        from accelerate import init_empty_weights

        with init_empty_weights(include_buffers=False):
            made = make()
        load_strictly(
            made,
            weight_files(self.folder),
            keys,
            device=self.compute.device_here(),
            dtype=self._base_dtype,
        )
        return made

    @property
    def _base_dtype(self) -> torch.dtype:
        """A base that is trained itself stays float32, whatever it computes in."""
        found: torch.dtype = getattr(torch, self.compute.precision)
        return torch.float32 if self.lora is None else found

    def _settle(self) -> None:
        """Last step of building: checkpointing, device."""
        if self.compute.gradient_checkpointing:
            for module in self.modules():
                if isinstance(module, VisionTransformer):
                    module.checkpointing = True
                else:
                    enable: Any = getattr(module, "gradient_checkpointing_enable", None)
                    if enable is not None:
                        enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if self.device.type != "meta":
            self.to(self.compute.device_here())

    def _adapt(self, *, unused: Callable[[str], bool]) -> None:
        """Freeze the base and adapt it, or, without LoRA, train all of it that is used."""
        if self.lora is not None:
            add_adapters(self.vlm, self.lora, unused=unused)
            return
        for name, weight in self.vlm.named_parameters():
            weight.requires_grad_(not unused(name))


def mean_over_valid(
    errors: Float[Tensor, "rows chunk action"], batch: Inputs
) -> Float[Tensor, "rows"]:
    """The mean error of each row over the part of its chunk that was demonstrated."""
    weight = batch.valid[..., None].expand_as(errors).to(errors.dtype)
    return (errors * weight).sum((1, 2)) / weight.sum((1, 2))


@contextmanager
def seeded(stream: Stream, part: int) -> Iterator[None]:
    """Torch's random numbers from this stream's part, and afterwards as if nothing was drawn."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream.at_step(part).integers(2**63)))
        yield
