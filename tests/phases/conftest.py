"""Made-up tasks and servers serve several files; importlib mode makes none importable."""

import sys
from pathlib import Path

import pytest

for folder in (Path(__file__).parents[1] / "core", Path(__file__).parent):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


@pytest.fixture
def only_our_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy and no key of this machine; the key is a canary."""
    from verifying import KEY

    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("PHASER_VLM_KEY", KEY)
