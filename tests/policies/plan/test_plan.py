"""Plans of the six cells: published counts, the real networks' operations and bytes."""

import json
import re
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from robot_samples import BACKBONES, CONTRACT, NOISE, WEIGHTS, require_backbones, rows, samples

from phaser.cli import main
from phaser.core.errors import BadInput, PhaserError, UnknownName
from phaser.policies.lora import Lora
from phaser.policies.openvla_oft.settings import OpenVlaOft
from phaser.policies.parts.compute import Compute
from phaser.policies.plan.cells import CELLS, cells_named
from phaser.policies.plan.counting import Counted
from phaser.policies.plan.estimate import plan
from phaser.policies.plan.gpus import GPUS
from phaser.policies.plan.inventories import inventory
from phaser.policies.plan.meta_check import check_on_meta
from phaser.policies.plan.recipe import Recipe

PLANS = {
    name: plan(cell.name, cell.policy, cell.recipe, gpu=GPUS["h100"], num_gpus=2)
    for name, cell in CELLS.items()
}


def millions(found):
    return {part.name: round(part.parameters / 1e6, 1) for part in found.parts}


def test_the_parts_have_the_published_numbers_of_weights():
    assert millions(PLANS["openvla-oft-libero-goal"]) == {
        "vision": 715.7,
        "projector": 71.4,
        "language model": 6738.9,
        "state projector": 16.8,
        "action head": 151.1,
    }
    for name, head in (("qwen-gr00t", 155.2), ("qwen-oft", 42.0)):
        found = millions(PLANS[f"{name}-libero-long"])
        assert found["vision"] == 668.7
        assert round(found["vision"] + found["language model"], 1) == 3754.6
        assert found["action head"] == head
        assert round(PLANS[f"{name}-libero-long"].adapters / 1e6, 1) == 82.7


@pytest.mark.parametrize("name", [name for name in CELLS if name.endswith("goal")])
def test_the_network_on_the_meta_device_has_the_weights_of_the_plan(name):
    require_backbones(whole_file=False)
    check_on_meta(CELLS[name], PLANS[name])
    wrong = replace(PLANS[name], parts=PLANS[name].parts[1:])
    with pytest.raises(PhaserError, match="report this as a bug"):
        check_on_meta(CELLS[name], wrong)


def small(name, **compute):
    """A small backbone, one of its rows, and the recipe that says how long its prompt is."""
    require_backbones(whole_file=False)
    settings = replace(
        BACKBONES[name],
        size="small",
        lora=Lora(rank=8, alpha=8),
        compute=Compute(precision="bfloat16", **compute),
    )
    policy = settings.build(CONTRACT, WEIGHTS).train()
    tensors = policy.batch(samples(1)).tensors
    if name == "openvla-oft":
        words = int(tensors["prompt_lengths"][0])
    else:
        images = int(tensors["mm_token_type_ids"].sum())
        words = tensors["input_ids"].shape[1] - images - 4
    recipe = Recipe(state_size=5, action_size=4, prompt_tokens=words)
    return policy, inventory(settings, recipe)


@pytest.mark.parametrize("name", BACKBONES)
def test_operations_are_those_that_torch_counts(name):
    policy, blocks = small(name)
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    counted = Counted.of(blocks, 8)
    # Plain products, which torch counts; they do not compute attention a second time.
    with sdpa_kernel(SDPBackend.MATH):
        with FlopCounterMode(display=False) as there:
            loss = policy(policy.batch(samples(1)), NOISE).sum()
        with FlopCounterMode(display=False) as back:
            loss.backward()
    assert there.get_total_flops() == counted.forward_flops
    assert back.get_total_flops() == pytest.approx(counted.backward_flops, rel=0.07)
    assert 0.5 < counted.recomputed_flops / counted.forward_flops < 1


def kept_bytes(policy, batch):
    """Bytes of all tensors that a pass keeps for its backward pass, without the weights."""
    from torch.autograd.graph import saved_tensors_hooks

    own = {one.untyped_storage().data_ptr() for one in [*policy.parameters(), *policy.buffers()]}
    found, held = {}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage.nbytes()
            held.append(tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        policy(batch, NOISE)
    return sum(found.values())


def per_sample(policy):
    one, two = (kept_bytes(policy, policy.batch(rows(samples(1), [0] * k))) for k in (1, 2))
    return two - one


@pytest.mark.parametrize("name", BACKBONES)
def test_activations_are_what_autograd_keeps_for_another_sample(name):
    policy, blocks = small(name)
    assert per_sample(policy) == pytest.approx(Counted.of(blocks, 8).kept, rel=0.05)


@pytest.mark.parametrize("name", BACKBONES)
def test_checkpointing_keeps_the_inputs_of_blocks_and_opens_one_at_a_time(name):
    policy, blocks = small(name, gradient_checkpointing=True)
    used = [block for block in blocks if block.used and block.entering]
    open_block = max(block.sum("kept_bytes", 8) // block.times for block in used)
    counted = Counted.of(blocks, 8)
    assert counted.kept_with_checkpoints < 0.7 * counted.kept
    # Besides, masks and rotations of a sample, which count only at this size.
    assert per_sample(policy) == pytest.approx(counted.kept_with_checkpoints - open_block, rel=0.25)


def test_the_memory_is_what_openvla_ofts_authors_report():
    """About 25 GB for one sample on a GPU, about 62 GB for eight; they do not checkpoint."""
    for rows_per_device, reported in ((1, 25), (8, 62)):
        recipe = Recipe(current_per_device=rows_per_device, rehearsed_per_device=0)
        found = plan("openvla-oft", OpenVlaOft(), recipe)
        assert found.plain.total / 1e9 == pytest.approx(reported, rel=0.15)


def test_the_papers_hours_come_out_on_the_papers_gpus():
    for name, hours in (("openvla-oft", 28.0), ("qwen-gr00t", 18.3), ("qwen-oft", 16.2)):
        cell = CELLS[f"{name}-libero-goal"]
        found = plan(name, cell.policy, cell.recipe, gpu=GPUS["a800"], num_gpus=2)
        assert found.plain_hours == pytest.approx(hours)
        assert 0.05 < found.utilisation < 0.5
        faster = plan(name, cell.policy, cell.recipe, gpu=GPUS["a800"], utilisation=0.5)
        assert faster.plain_hours < hours


def test_budgets_files_and_rollouts_are_the_recipes():
    found = PLANS["openvla-oft-libero-long"]
    assert (found.memory_frames, found.num_steps, found.num_rollouts) == (1800, 100_000, 950)
    assert found.memory_bytes == 1800 * (2 * 256 * 256 * 3 + 8 * 4 + 8 * (7 * 4 + 1))
    assert found.max_policy_calls == 950 * 65
    assert found.adapter_bytes == 4 * found.trained
    assert found.resume_bytes == 3 * found.adapter_bytes
    assert found.adapter_bytes < 0.1 * 2 * found.parameters


def test_training_the_whole_base_is_not_planned():
    cell = CELLS["qwen-oft-libero-goal"]
    with pytest.raises(BadInput, match="plans are of runs with LoRA"):
        plan("whole", replace(cell.policy, lora=None), cell.recipe)


def test_a_gpu_that_is_too_small_is_one_line(capsys):
    words = ["plan", "openvla-oft-libero-goal", "--gpu", "rtx-4090"]
    assert main.execute(words) == 2
    shown = capsys.readouterr()
    assert "openvla-oft-libero-goal needs" in shown.err
    assert "rtx-4090 has 24 GB" in shown.err
    assert shown.err.count("\n") == 1
    assert "language model" in shown.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("openvla-otf", "did you mean openvla-oft"),
        ("--gpu h1000", "unknown GPU 'h1000'; did you mean h100"),
        ("--gpus 0", "0 GPUs"),
        ("--utilisation 2", r"utilisation 2\.0"),
    ],
)
def test_mistakes_are_one_line(words, said, capsys):
    assert main.execute(["plan", *words.split()]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert re.search(said, shown)


def test_the_six_cells_are_planned_without_torch_in_under_ten_seconds():
    program = (
        "import sys; from phaser.cli import main; code = main.execute(['plan', '--json'])\n"
        "sys.exit(code or 'torch' in sys.modules or 'transformers' in sys.modules)"
    )
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < 10
    found = json.loads(done.stdout)
    assert [one["name"] for one in found] == list(CELLS)
    assert all(one["fits"] and one["unknown"] for one in found)


def test_a_policy_names_both_its_cells_and_the_text_says_what_is_not_known(capsys):
    assert [cell.name for cell in cells_named("qwen-oft")] == [
        "qwen-oft-libero-goal",
        "qwen-oft-libero-long",
    ]
    assert main.execute(["plan", "qwen-oft"]) == 0
    shown = capsys.readouterr().out
    assert "qwen-oft-libero-long" in shown
    assert "not known:" in shown
    assert "simulator" in shown
    with pytest.raises(UnknownName):
        cells_named("tiny")
    with pytest.raises(BadInput, match="counts of at least 1"):
        Recipe(num_tasks=0)


def test_a_plan_of_lora_trains_no_frozen_weight():
    found = PLANS["qwen-gr00t-libero-goal"]
    head = next(part for part in found.parts if part.name == "action head")
    # The published head has an encoder of states that its recipe never feeds.
    unfed = 8 * 1024 + 1024 + 1024 * 768 + 768
    assert found.trained == found.adapters + head.parameters - unfed
