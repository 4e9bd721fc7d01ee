"""The extras of the package: which one brings a library that a plain install does not have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from phaser.core.errors import MissingDependency

EXTRAS = {
    **dict.fromkeys(("accelerate", "cattrs", "platformdirs", "pyarrow", "rich", "tyro"), "cli"),
    **dict.fromkeys(("safetensors", "tokenizers"), "encoders"),
    **dict.fromkeys(("metaworld", "mujoco", "gymnasium"), "metaworld"),
    **dict.fromkeys(("numba", "scipy"), "libero"),
    **dict.fromkeys(("fastapi", "uvicorn"), "annotate"),
    **dict.fromkeys(("peft", "transformers"), "backbones"),
    "h5py": "hdf5",
    "av": "video",
    "openai": "vlm",
    "huggingface_hub": "libero-fetch",
    "lerobot": "lerobot",
    "matplotlib": "figures",
    "ray": "ray",
}
"""The extra to install for each library, by the name under which Python imports it."""


def install_line(library: str) -> str:
    """The command that installs a library of one of our extras."""
    return f"pip install 'phaser-vla[{EXTRAS[library]}]'"


def missing_library(error: ModuleNotFoundError) -> str | None:
    """The library of an extra that an import did not find; None where it is another module."""
    root = (error.name or "").partition(".")[0]
    return root if root in EXTRAS else None


@contextmanager
def libraries_for(what: str, *, otherwise: str = "") -> Iterator[None]:
    """Say in one line what to install where a library of an extra is missing.

    Args:
        what: the thing that needs the libraries, as the subject of a plural sentence.
        otherwise: what else a user may do, such as ", or give encoders of your own".
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (library := missing_library(error)) is None:
            raise
        raise MissingDependency(
            f"{what} need {library}, which is not installed; run: {install_line(library)}"
            f"{otherwise}"
        ) from error
