"""What a user does wrong with a backbone is one line that says what to do."""

import json
from dataclasses import replace

import pytest
from robot_samples import BACKBONES, CONTRACT, WEIGHTS, observations, require_backbones, samples
from robot_samples import streams as streams_of

from phaser.core.errors import BadInput, BrokenFile, MissingDependency, UnknownName
from phaser.policies.loading.weights import Weights
from phaser.policies.lora import Lora
from phaser.policies.parts.compute import Compute
from phaser.policies.parts.image_form import ImageForm
from phaser.policies.parts.scaling import Scaling

require_backbones()

each_backbone = pytest.mark.parametrize("name", BACKBONES)


@each_backbone
def test_a_camera_too_few(name):
    with pytest.raises(BadInput, match="reads 2 cameras, the suite 'made-up' has 1 \\(front\\)"):
        BACKBONES[name].build(replace(CONTRACT, cameras=("front",)), WEIGHTS)
    policy, found = BACKBONES[name].build(CONTRACT, WEIGHTS), samples(1)
    front = {"front": found.images["front"]}
    with pytest.raises(BadInput, match="samples without camera wrist"):
        policy.batch(replace(found, images=front))
    (seen,) = observations(found)
    with pytest.raises(BadInput, match="observation without camera wrist"):
        policy.act([replace(seen, images={"front": seen.images["front"]})], streams_of(1))


@each_backbone
def test_statistics_that_are_missing_or_of_another_robot(name, tmp_path):
    rule = BACKBONES[name].scaling.rule
    with pytest.raises(BadInput, match=f"scaled by {rule}, but the suite states no action stat"):
        BACKBONES[name].build(replace(CONTRACT, action_statistics=None), WEIGHTS)
    elsewhere = Scaling(rule=rule, statistics=str(tmp_path / "dataset_statistics.json"))
    with pytest.raises(BadInput, match=r"dataset_statistics\.json does not exist"):
        replace(BACKBONES[name], scaling=elsewhere).build(CONTRACT, WEIGHTS)
    wide = tuple(f"joint{k}" for k in range(6))
    with pytest.raises(BadInput, match="have 4 action numbers, the suite's action has 6"):
        BACKBONES[name].build(replace(CONTRACT, action=wide), WEIGHTS)


@each_backbone
def test_actions_and_states_of_another_size(name):
    policy, found = BACKBONES[name].build(CONTRACT, WEIGHTS), samples(1)
    with pytest.raises(BadInput, match="chunks of 4 actions of 3 numbers, the policy has 4 of 4"):
        policy.batch(replace(found, actions=found.actions[..., :3]))
    with pytest.raises(BadInput, match="states of 2 numbers"):
        policy.batch(replace(found, states=found.states[:, :2]))


def entry(size=4, **more):
    numbers = {name: [0.0] * size for name in ("mean", "std", "min", "q01")}
    return {**numbers, "max": [1.0] * size, "q99": [1.0] * size, **more}


@pytest.mark.parametrize(
    ("content", "key", "said"),
    [
        ([], "", "not an object of entries"),
        ({"a": {}}, "", "no action statistics"),
        ({"a": {"action": {"mean": [0.0]}}}, "", "lacks std, min, max, q01, q99"),
        ({"a": {"action": entry(mean="x")}}, "", "expected a list of numbers"),
        ({"a": {"action": entry()}, "b": {}}, "", "2 entries \\(a, b\\)"),
        ({"libero_goal": {"action": entry()}}, "libero_gaol", "did you mean libero_goal"),
        ({"a": {"action": entry(mask=[True, True, False, True])}}, "", "numbers \\(2,\\) unscaled"),
    ],
    ids=str,
)
def test_a_statistics_file_that_makes_no_sense(tmp_path, content, key, said):
    path = tmp_path / "dataset_statistics.json"
    path.write_text(json.dumps(content))
    scaling = Scaling(rule="min-max", statistics=str(path), statistics_key=key)
    with pytest.raises((BadInput, BrokenFile), match=said):
        replace(BACKBONES["qwen-oft"], scaling=scaling).build(CONTRACT, WEIGHTS)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Lora(rank=0), "rank 0"),
        (lambda: Compute(precision="float16"), "precision 'float16'"),
        (lambda: Compute(act_rows=0), "act_rows 0"),
        (lambda: Scaling(rule="z"), "rule 'z'"),
        (lambda: Scaling(gripper="z"), "gripper 'z'"),
        (lambda: Weights(head="old"), "head 'old'"),
        (lambda: Weights(head="checkpoint"), "no checkpoint is given"),
        (lambda: ImageForm(resize="area"), "resize 'area'"),
        (lambda: ImageForm(crop_area=0.0), r"crop_area 0\.0"),
        (lambda: ImageForm(jpeg_quality=0), "jpeg_quality 0"),
        (lambda: replace(BACKBONES["qwen-oft"], prompt="do it"), "{instruction}"),
        (lambda: replace(BACKBONES["qwen-oft"], chunk_length=0), "chunk_length 0"),
        (lambda: replace(BACKBONES["qwen-gr00t"], chunk_length=17), "places for 16"),
        (lambda: replace(BACKBONES["qwen-gr00t"], head_dropout=1.0), r"head_dropout 1\.0"),
        (lambda: replace(BACKBONES["openvla-oft"], num_cameras=0), "num_cameras 0"),
    ],
)
def test_settings_that_make_no_sense(make, said):
    with pytest.raises(BadInput, match=said):
        make()


@each_backbone
def test_an_unknown_size_answers_with_the_nearest(name):
    with pytest.raises(UnknownName, match="did you mean tiny"):
        replace(BACKBONES[name], size="tinny")


def test_the_full_size_cannot_read_words_without_its_checkpoint():
    from phaser.policies.parts.tokens import lazy_tokenizer

    with pytest.raises(BadInput, match=r"set weights\.checkpoint"):
        lazy_tokenizer(None, False)()


def test_a_checkpoint_without_a_tokenizer(tmp_path):
    from phaser.policies.parts.tokens import lazy_tokenizer

    with pytest.raises(BadInput, match=r"has no tokenizer\.json"):
        lazy_tokenizer(tmp_path, False)()
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BrokenFile, match="is no tokenizer"):
        lazy_tokenizer(tmp_path, False)()


@pytest.mark.parametrize("library", ["transformers", "peft"])
def test_a_missing_library_says_what_to_install(monkeypatch, library):
    import sys

    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingDependency, match=r"phaser-vla\[backbones\]"):
        BACKBONES["openvla-oft"].build(CONTRACT, WEIGHTS)
