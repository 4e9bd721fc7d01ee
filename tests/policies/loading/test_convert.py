"""`.pt` files become safetensors in a process of their own; code in them does not run."""

import pickle

import pytest
import torch
from safetensors.torch import load_file

from phaser.cli import main
from phaser.core.errors import BadInput, BrokenFile
from phaser.policies.loading.convert import convert, pickled_files


class Attack:
    """Would leave a trace if the file were unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return open, (self.trace, "w")


def test_tensors_come_through_unchanged_and_the_file_stays(tmp_path):
    weights = {
        "module.fc1.weight": torch.randn(3, 4).bfloat16(),
        "module.fc1.bias": torch.arange(3.0),
    }
    weights["module.tied"] = weights["module.fc1.bias"]
    torch.save(weights, tmp_path / "action_head--50_checkpoint.pt")
    (path,) = pickled_files(tmp_path)
    made = convert(path)
    assert made == tmp_path / "action_head--50_checkpoint.safetensors"
    found = load_file(made)
    assert found.keys() == weights.keys()
    assert all(torch.equal(found[name], one) for name, one in weights.items())
    assert path.exists()
    assert convert(path) is None
    assert convert(path, overwrite=True) == made


def test_code_in_a_file_does_not_run_and_nothing_is_left_behind(tmp_path):
    trace = tmp_path / "trace"
    torch.save({"weight": Attack(str(trace))}, tmp_path / "bad.pt")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Attack(str(trace))))
    for path in pickled_files(tmp_path):
        with pytest.raises(BrokenFile, match="was not converted"):
            convert(path)
    assert not trace.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.pt", "plain.pt"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([torch.zeros(2)], "it holds a list"),
        ({"step": 3}, "step are no tensors"),
        ({}, "no tensors"),
    ],
)
def test_what_is_no_dictionary_of_tensors_is_refused(tmp_path, content, said):
    torch.save(content, tmp_path / "one.pt")
    with pytest.raises(BrokenFile, match=said):
        convert(tmp_path / "one.pt")


def test_a_folder_without_such_files_is_a_mistake(tmp_path):
    with pytest.raises(BadInput, match="nothing to convert"):
        pickled_files(tmp_path)
    with pytest.raises(BadInput, match="is no folder"):
        pickled_files(tmp_path / "gone")


def test_the_command_warns_converts_and_says_what_it_wrote(tmp_path, capsys):
    (tmp_path / "checkpoints").mkdir()
    torch.save({"weight": torch.ones(2)}, tmp_path / "checkpoints" / "steps_5_pytorch_model.pt")
    assert main.execute(["convert", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "a .pt file is a pickle" in shown.err
    assert "steps_5_pytorch_model.safetensors" in shown.out
    assert main.execute(["convert", str(tmp_path)]) == 0
    assert "is there already" in capsys.readouterr().out
    assert main.execute(["convert"]) == 2
    assert "name the folder" in capsys.readouterr().err
