"""A torch file of the older layout gives the same tensors, and nothing in it is ever run."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from phaser.core.errors import BrokenFile
from phaser.encoders.efficientnet import DISTRIBUTION, PACKAGE
from phaser.encoders.torch_file import MAGIC, PROTOCOL, read_tensors
from phaser.encoders.weights import packaged_file


class Call:
    """Pickles as a call, which unpickling would make."""

    def __init__(self, function, *arguments):
        self.parts = (function, arguments)

    def __reduce__(self):
        return self.parts


def saved(path: Path, value: object) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=False)
    return path


def planted(path: Path, content: object) -> Path:
    parts = (MAGIC, PROTOCOL, {}, content, [])
    path.write_bytes(b"".join(pickle.dumps(part, protocol=2) for part in parts))
    return path


def test_every_tensor_of_the_shipped_weights_is_read_to_the_bit() -> None:
    path = packaged_file(
        PACKAGE, "models/efficientnet-lite0-57934424.pth", distribution=DISTRIBUTION
    )
    ours, theirs = read_tensors(path), torch.load(path, weights_only=True)
    assert list(ours) == list(theirs)
    for name, tensor in theirs.items():
        expected = tensor.numpy()
        assert (ours[name].dtype, ours[name].shape) == (expected.dtype, expected.shape)
        assert ours[name].tobytes() == expected.tobytes()


def test_tensors_that_share_or_turn_numbers_and_empty_ones_are_read(tmp_path: Path) -> None:
    whole = torch.arange(12.0)
    tensors = {"all": whole, "end": whole[8:].reshape(2, 2), "one": torch.tensor(3)}
    tensors |= {"turned": whole.reshape(3, 4).T, "repeated": whole[3:4].expand(5)}
    read = read_tensors(saved(tmp_path / "a.pth", {**tensors, "none": torch.zeros(0, 4)}))
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(read[name], tensor.numpy())
    assert read["none"].shape == (0, 4)


def test_a_call_in_the_file_is_refused_and_not_made(tmp_path: Path) -> None:
    witness = tmp_path / "called"
    path = planted(tmp_path / "a.pth", Call(Path.touch, witness))
    with pytest.raises(BrokenFile):
        read_tensors(path)
    assert not witness.exists()
    pickle.loads(pickle.dumps(Call(Path.touch, witness), protocol=2))
    assert witness.exists(), "the planted call must be one that unpickling makes"


def test_an_opcode_that_weights_do_not_need_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BrokenFile, match="opcode"):
        read_tensors(planted(tmp_path / "a.pth", {"number": 1.5}))


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pth"
    path.write_bytes(pickle.dumps(1, protocol=2) * 2)
    with pytest.raises(BrokenFile, match="no torch file"):
        read_tensors(path)


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.pth", {"some": torch.arange(100.0)})
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(BrokenFile, match="ends before"):
        read_tensors(path)
