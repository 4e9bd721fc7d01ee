"""The regression head of both OFT backbones: a small residual MLP, trained by L1."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class ResidualBlock(nn.Module):
    """Norm, linear layer and ReLU, added to what came in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ffn = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        return x + self.ffn(x)


class MlpResnet(nn.Module):
    """Two residual blocks between an input and an output layer; names as published."""

    def __init__(self, *, input_width: int, hidden_width: int, output_width: int) -> None:
        super().__init__()
        self.layer_norm1 = nn.LayerNorm(input_width)
        self.fc1 = nn.Linear(input_width, hidden_width)
        self.mlp_resnet_blocks = nn.ModuleList(ResidualBlock(hidden_width) for _ in range(2))
        self.layer_norm2 = nn.LayerNorm(hidden_width)
        self.fc2 = nn.Linear(hidden_width, output_width)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.fc1(self.layer_norm1(x)))
        for block in self.mlp_resnet_blocks:
            x = block(x)
        out: Tensor = self.fc2(self.layer_norm2(x))
        return out


class RegressionHead(nn.Module):
    """An action for each step of a chunk, from what the backbone says of that step."""

    def __init__(self, *, input_width: int, hidden_width: int, action_size: int) -> None:
        super().__init__()
        self.model = MlpResnet(
            input_width=input_width, hidden_width=hidden_width, output_width=action_size
        )

    def forward(
        self, read: Float[Tensor, "rows chunk features"]
    ) -> Float[Tensor, "rows chunk action"]:
        actions: Tensor = self.model(read)
        return actions
