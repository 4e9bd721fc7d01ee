"""The child process of `phaser convert`: one `.pt` file in, one safetensors file out.

The only file that may call `torch.load`, and only with `weights_only`. It is run, never imported.
"""

from __future__ import annotations

import sys
import zipfile


def main(source: str, target: str) -> None:
    """Read a flat dictionary of tensors and write it as safetensors."""
    import torch
    from safetensors.torch import save_file

    found = torch.load(
        source, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(source)
    )
    if not isinstance(found, dict):
        sys.exit(f"it holds a {type(found).__name__}, expected weights by name")
    others = [name for name, one in found.items() if not isinstance(one, torch.Tensor)]
    if others:
        sys.exit(f"{', '.join(map(str, others[:5]))} are no tensors, expected weights by name")
    # Clones: tensors of one file may share memory, which safetensors does not write.
    save_file({str(name): one.clone().contiguous() for name, one in found.items()}, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
