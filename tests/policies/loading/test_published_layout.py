"""Published layouts: a tiny model written in one loads strictly, and a wrong one is explained."""

import json
import shutil
import sys
import types
from dataclasses import replace

import pytest
import torch
from robot_samples import BACKBONES, CONTRACT, NOISE, WEIGHTS, require_backbones, samples
from safetensors.torch import load_file, save_file

from phaser.core.errors import BadInput, BrokenFile
from phaser.core.streams import Streams
from phaser.policies.loading.key_map import listed
from phaser.policies.loading.reading import weight_files
from phaser.policies.loading.weights import Weights
from phaser.policies.loading.writing import write_shards

require_backbones()

each_backbone = pytest.mark.parametrize("name", BACKBONES)
OTHER = Streams(1).named("weights")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A merged policy of each kind in its published layout, and what it says of some samples."""
    found = {}
    for name, settings in BACKBONES.items():
        policy = settings.build(CONTRACT, WEIGHTS).eval()
        with torch.no_grad():
            for weight in policy.trained_state().values():
                weight.add_(0.01)
        before = policy.outputs(policy.batch(samples(2)))
        policy.merge()
        after = policy.outputs(policy.batch(samples(2)))
        torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-5)
        folder = tmp_path_factory.mktemp(name)
        policy.export(folder)
        found[name] = (folder, after.detach())
    return found


def from_folder(name, folder, head="checkpoint"):
    weights = Weights(checkpoint=str(folder), head=head)
    return replace(BACKBONES[name], weights=weights).build(CONTRACT, OTHER).eval()


def refused(name, folder, **more):
    with pytest.raises(BadInput) as error:
        from_folder(name, folder, **more)
    return str(error.value)


@each_backbone
def test_a_model_in_its_published_layout_loads_to_the_same_bits(exported, name):
    folder, expected = exported[name]
    policy = from_folder(name, folder)
    assert torch.equal(policy.outputs(policy.batch(samples(2))), expected)
    # Adapters of a fresh start change nothing, and are trained.
    assert any("lora_" in key for key in policy.trained_state())


@each_backbone
def test_a_fresh_head_is_the_streams_on_the_checkpoints_base(exported, name):
    folder, expected = exported[name]
    fresh = from_folder(name, folder, head="fresh")
    assert not torch.allclose(fresh.outputs(fresh.batch(samples(2))), expected, atol=1e-3)
    loaded = from_folder(name, folder)
    assert torch.equal(
        fresh.frozen_features(fresh.batch(samples(2))),
        loaded.frozen_features(loaded.batch(samples(2))),
    )


@each_backbone
def test_statistics_and_contract_lie_beside_the_weights(exported, name):
    folder, _ = exported[name]
    about = json.loads((folder / "phaser_contract.json").read_text())
    assert about["policy"] == name
    scaling = replace(BACKBONES[name].scaling, statistics="checkpoint")
    settings = replace(BACKBONES[name], weights=Weights(checkpoint=str(folder)), scaling=scaling)
    bare = replace(CONTRACT, action_statistics=None, state_statistics=None)
    assert settings.build(bare, WEIGHTS).contract == about


@each_backbone
def test_missing_and_unexpected_weights_are_all_listed(exported, name, tmp_path):
    folder = shutil.copytree(exported[name][0], tmp_path / "copy")
    (file,) = weight_files(folder)
    weights = load_file(file)
    gone = [key for key in weights if key.endswith("mlp.up_proj.weight") and "layers" in key]
    kept = {key: one for key, one in weights.items() if key not in gone}
    save_file({**kept, "language_model.model.layers.9.extra": torch.zeros(1)}, file)
    line = refused(name, folder)
    assert "2 missing: " in line
    assert "layers.{0-1}.mlp.up_proj.weight" in line
    assert "1 unexpected: language_model.model.layers.9.extra" in line


@each_backbone
def test_another_shape_is_named(exported, name, tmp_path):
    folder = shutil.copytree(exported[name][0], tmp_path / "copy")
    with pytest.raises(BadInput, match=r"of another shape: .* instead of"):
        replace(BACKBONES[name], size="small", weights=Weights(checkpoint=str(folder))).build(
            CONTRACT, OTHER
        )


def test_a_head_for_other_actions_is_named(exported):
    wider = replace(
        CONTRACT,
        action=(*CONTRACT.action, "more"),
        action_statistics=None,
    )
    settings = replace(
        BACKBONES["qwen-oft"],
        weights=Weights(checkpoint=str(exported["qwen-oft"][0]), head="checkpoint"),
        scaling=replace(BACKBONES["qwen-oft"].scaling, rule="fixed"),
    )
    with pytest.raises(BadInput, match=r"model.fc2.bias \[4\] instead of \[5\]"):
        settings.build(wider, WEIGHTS)


@pytest.mark.parametrize("name", ["qwen-gr00t", "qwen-oft"])
def test_qwens_own_files_load_under_their_old_and_their_new_names(exported, name, tmp_path):
    folder, _ = exported[name]
    (file,) = weight_files(folder)
    base = {
        key.removeprefix("qwen_vl_interface.model."): one
        for key, one in load_file(file).items()
        if key.startswith("qwen_vl_interface.")
    }
    old = {
        key.replace("model.language_model.", "model.").replace("model.visual.", "visual."): one
        for key, one in base.items()
    }
    expected = from_folder(name, folder, head="fresh")
    for number, weights in enumerate((base, old)):
        there = tmp_path / str(number)
        write_shards(there, weights, max_bytes=50_000)
        assert len(weight_files(there)) > 1
        loaded = from_folder(name, there, head="fresh").state_dict()
        assert all(torch.equal(one, loaded[key]) for key, one in expected.state_dict().items())


def test_siglips_pooling_layer_is_not_missed(exported, tmp_path):
    folder = shutil.copytree(exported["openvla-oft"][0], tmp_path / "copy")
    (file,) = weight_files(folder)
    more = {"vision_backbone.fused_featurizer.attn_pool.q.weight": torch.zeros(2, 2)}
    save_file({**load_file(file), **more}, file)
    assert from_folder("openvla-oft", folder)(  # it loads
        from_folder("openvla-oft", folder).batch(samples(1)), NOISE
    ).isfinite()


def test_openvlas_own_config_says_how_its_norms_divide(exported, tmp_path):
    folder = shutil.copytree(exported["openvla-oft"][0], tmp_path / "copy")
    expected = exported["openvla-oft"][1]
    for epsilon, same in ((1e-6, True), (1e-3, False)):
        (folder / "config.json").write_text(json.dumps({"text_config": {"rms_norm_eps": epsilon}}))
        policy = from_folder("openvla-oft", folder)
        assert torch.equal(policy.outputs(policy.batch(samples(2))), expected) == same
    (folder / "config.json").write_text('{"text_config": {"rms_norm_eps": "small"}}')
    assert "expected a small number" in refused("openvla-oft", folder)


def test_a_wrong_folder_is_one_clear_line(tmp_path):
    assert "is no folder and no hub id" in refused("qwen-oft", tmp_path / "nothing")
    assert "no *.safetensors in it" in refused("qwen-oft", tmp_path)
    (tmp_path / "steps_10_pytorch_model.pt").write_bytes(b"")
    assert f"run phaser convert {tmp_path}" in refused("qwen-oft", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(BrokenFile, match="is no safetensors file"):
        from_folder("qwen-oft", tmp_path)


def test_a_head_that_is_only_there_as_a_pickle_is_to_be_converted(exported, tmp_path):
    folder = shutil.copytree(exported["openvla-oft"][0], tmp_path / "copy")
    (folder / "action_head.safetensors").rename(folder / "action_head--50_checkpoint.pt")
    assert f"run: phaser convert {folder}" in refused("openvla-oft", folder)
    (folder / "action_head--50_checkpoint.pt").unlink()
    assert "set weights.head to fresh" in refused("openvla-oft", folder)


def test_a_hub_id_needs_its_commit():
    for revision in ("", "main", "abc123"):
        with pytest.raises(BadInput, match="40 hexadecimal digits"):
            Weights(checkpoint="openvla/openvla-7b", revision=revision).folder()


def test_a_hub_id_is_downloaded_at_its_commit(monkeypatch, tmp_path):
    asked = []

    def snapshot_download(hub_id, *, revision, allow_patterns):
        asked.append((hub_id, revision))
        assert not any(pattern.endswith(".py") for pattern in allow_patterns)
        return str(tmp_path)

    hub = types.ModuleType("huggingface_hub")
    hub.snapshot_download = snapshot_download
    errors = types.ModuleType("huggingface_hub.errors")
    errors.HfHubHTTPError = errors.LocalEntryNotFoundError = OSError
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)
    commit = "0123456789" * 4
    assert Weights(checkpoint="openvla/openvla-7b", revision=commit).folder() == tmp_path
    assert asked == [("openvla/openvla-7b", commit)]


def test_a_list_of_names_is_short_and_complete():
    names = [f"layers.{k}.mlp.weight" for k in (0, 1, 2, 5)] + ["norm.weight", "blocks.3.bias"]
    assert listed(names) == "blocks.3.bias, layers.{0-2,5}.mlp.weight, norm.weight"
    assert listed([]) == ""
