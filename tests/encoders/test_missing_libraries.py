"""Without the libraries of the extra, our encoders say in one line what to install."""

import sys

import pytest

from phaser.core.errors import MissingDependency
from phaser.encoders.table import LANGUAGE, VISION


def test_a_missing_library_names_the_extra_and_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    monkeypatch.delitem(sys.modules, "phaser.encoders.minilm", raising=False)
    with pytest.raises(MissingDependency, match=r"tokenizers.*'phaser-vla\[encoders\]'.*your own"):
        LANGUAGE["minilm"]()


def test_the_vision_encoder_says_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("efficientnet", "maps"):
        monkeypatch.delitem(sys.modules, f"phaser.encoders.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(MissingDependency, match=r"pip install 'phaser-vla\[encoders\]'"):
        VISION["efficientnet-lite0"](("front",))
