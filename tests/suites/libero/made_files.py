"""Small stand-ins for LIBERO's assets and demonstrations: the right names, little content."""

from __future__ import annotations

from pathlib import Path

from phaser.suites.libero.assets import NEEDED
from phaser.suites.libero.tasks import SUITES

MESH = b"mesh " * 400
XML = b"""<mujoco><asset><mesh file="vis.msh" name="vis"/></asset>
<worldbody><geom mesh="vis"/></worldbody></mujoco>"""


def assets_of(*suites: str) -> dict[str, bytes]:
    """Files of a complete assets folder by path: descriptions, a mesh beside each, textures."""
    found: dict[str, bytes] = {}
    for suite in suites:
        for pattern, names in NEEDED[suite].items():
            for name in names:
                path = pattern.format(name)
                found[path] = XML if path.endswith(".xml") else b"texture of " + path.encode()
                if path.endswith(".xml"):
                    mesh = f"{path.rpartition('/')[0]}/vis.msh"
                    found[mesh] = MESH + mesh.encode()
    return found


def demonstrations_of(suite: str, *, size: int = 3000) -> dict[str, bytes]:
    """Files of a suite by path, as the published repository names them."""
    return {
        f"{suite.replace('-', '_')}/{task}_demo.hdf5": (
            b"\x89HDF\r\n\x1a\n" + task.encode() * (size // len(task))
        )
        for task in SUITES[suite]
    }


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    """All files below a folder, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
