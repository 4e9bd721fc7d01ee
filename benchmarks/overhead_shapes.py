"""Sizes of vision-language-action policies: the paper's three, and tiny ones of the same structure.

The real sizes are those of the public checkpoints as far as they matter for counting: numbers of
tokens, widths and depths. Nothing of a real size is ever allocated or run here.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Blocks:
    """A stack of transformer blocks."""

    width: int
    depth: int
    heads: int
    mlp: int
    key_heads: int | None = None
    """Fewer than `heads` where several queries share a key."""
    gated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A policy: vision towers and a language model with LoRA, and an action head trained whole."""

    cameras: tuple[str, ...] = ("corner", "gripper")
    patch_size: int
    """Numbers that a tower reads of a patch."""
    patches: int
    """Of one camera."""
    towers: tuple[Blocks, ...]
    """Side by side: their features of a patch are joined."""
    merged: int = 1
    """Patches that become one token."""
    projector: tuple[int, ...] = ()
    """Hidden widths between the towers and the language model."""
    language: Blocks
    text_tokens: int
    text_size: int = 32
    """Numbers that stand for a word here; a lookup costs no operations at any size."""
    state_size: int = 0
    """0 where the state is not fed."""
    slots: int
    """Tokens that the actions are read from; 0 where a flow head reads them all."""
    head_width: int
    chunk_length: int = 8
    action_size: int = 7
    flow: Blocks | None = None
    """A flow-matching head; none: L1 regression."""
    future_tokens: int = 32
    repeats: int = 1
    """How often a flow head's loss is taken of a sample, with other noise each time."""
    euler_steps: int = 4
    rank: int = 32


_QWEN_VISION = Blocks(width=1280, depth=32, heads=16, mlp=3420, gated=True)
_QWEN_TEXT = Blocks(width=2048, depth=36, heads=16, mlp=11008, key_heads=2, gated=True)
_QWEN = {
    "patch_size": 1176,
    "patches": 256,
    "towers": (_QWEN_VISION,),
    "merged": 4,
    "projector": (5120,),
    "language": _QWEN_TEXT,
    "text_tokens": 80,
}

REAL = {
    # Features are those of the towers' second-to-last blocks, so the last ones never run.
    "OpenVLA-OFT-7B": Shape(
        patch_size=588,
        patches=256,
        towers=(
            Blocks(width=1024, depth=23, heads=16, mlp=4096),
            Blocks(width=1152, depth=26, heads=16, mlp=4304),
        ),
        projector=(8704, 4096),
        language=Blocks(width=4096, depth=32, heads=32, mlp=11008, gated=True),
        text_tokens=40,
        state_size=8,
        slots=56,
        head_width=4096,
    ),
    "QwenGR00T-3B": Shape(
        **_QWEN,
        slots=0,
        head_width=1024,
        flow=Blocks(width=768, depth=16, heads=12, mlp=3072),
        repeats=8,
    ),
    "QwenOFT-3B": Shape(**_QWEN, slots=8, head_width=4096),
}

_SMALL_TOWER = Blocks(width=32, depth=1, heads=2, mlp=64)

TINY = {
    "regression": Shape(
        patch_size=112,
        patches=36,
        towers=(_SMALL_TOWER, _SMALL_TOWER),
        merged=4,
        projector=(64,),
        language=Blocks(width=64, depth=2, heads=4, mlp=160, gated=True),
        text_tokens=6,
        text_size=64,
        state_size=4,
        slots=8,
        head_width=64,
        action_size=4,
        rank=4,
    ),
    "flow": Shape(
        patch_size=112,
        patches=36,
        towers=(_SMALL_TOWER,),
        merged=4,
        projector=(64,),
        language=Blocks(width=64, depth=2, heads=4, mlp=160, key_heads=2, gated=True),
        text_tokens=6,
        text_size=64,
        slots=0,
        head_width=64,
        action_size=4,
        flow=Blocks(width=32, depth=2, heads=2, mlp=128),
        future_tokens=4,
        repeats=2,
        rank=4,
    ),
}
"""Of the frames that the tiny policy sees: its coarse maps are the patches."""
