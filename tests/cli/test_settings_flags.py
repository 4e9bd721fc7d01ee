"""Settings as flags, files and their order; the command that repeats a run."""

import json
import shlex
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from phaser.cli.arguments import whole_numbers
from phaser.cli.run import _parser, start
from phaser.cli.settings import overridden, setting_flags, settings_help
from phaser.core.errors import BadInput
from phaser.experiments.presets import preset
from phaser.experiments.provenance import command_of
from phaser.experiments.run import Run, settings_of
from phaser.memory.budget import Budget
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.methods.dark import Dark
from phaser.methods.table import METHODS
from phaser.routing.routed import Routed


def parsed(words: str) -> Run:
    """A run from the words after `phaser run`, as the verb reads them."""
    name, *rest = shlex.split(words)
    parser = _parser()
    chosen, others = parser.parse_known_args(rest)
    return overridden(start(name, chosen), others, verb="run", flags=parser.flags())


def chosen(**values: object) -> Namespace:
    budgets = ("budget", "budget_per_phase", "budget_bytes", "budget_total", "budget_total_bytes")
    names = ("from_file", "method", "seed", "phases", *budgets)
    unset: dict[str, object] = dict.fromkeys(names)
    return Namespace(**(unset | values))


def test_without_flags_a_run_is_its_preset() -> None:
    assert parsed("metaworld-quick") == preset("metaworld-quick")


def test_nested_flags_reach_the_rules_of_the_named_method() -> None:
    run = parsed(
        "metaworld-quick --method er-routed --budget 7 --seed 3 --method.draw.temperature 0.5 "
        "--fit.steps-per-task 100 --policy.head flow --policy.train-encoder --suite.order reverse "
        "--suite.task-list hammer drawer-open"
    )
    assert run.method.name == "er-routed"
    assert run.method_name.startswith("er-routed~")
    assert (run.budget, run.seed) == (Budget.per_task(7), 3)
    assert run.method.draw.temperature == 0.5  # type: ignore[union-attr]
    assert (run.fit.steps_per_task, run.policy.head, run.policy.train_encoder) == (
        100,
        "flow",
        True,
    )
    assert [task.name for task in run.suite.tasks()] == ["drawer-open", "hammer"]


def test_a_flag_of_another_methods_rule_is_unknown() -> None:
    with pytest.raises(BadInput, match=r"unknown flag --method.draw.temperature"):
        parsed("metaworld-quick --method er --method.draw.temperature 0.5")


@pytest.mark.parametrize(
    "field",
    ["preset", "method.name", "method.joint", "suite.cache", "budget.amount", "budget.unit"],
)
def test_fields_that_something_else_decides_are_no_flags(field: str) -> None:
    run = preset("metaworld-quick")
    assert f"--{field}" not in setting_flags(run)
    assert f"--{field} " not in settings_help(run, verb="run")
    with pytest.raises(BadInput, match="unknown flag"):
        parsed(f"metaworld-quick --{field} x")


def test_the_help_lists_every_flag_and_what_it_means() -> None:
    run = preset("metaworld-quick")
    text = settings_help(run, verb="run")
    assert [flag for flag in setting_flags(run) if flag not in text] == []
    assert "Order" not in text
    assert "Δ of the paper" in text


def test_boundaries_of_the_method_reach_the_segmenter() -> None:
    run = parsed("metaworld-quick --method.segmenter.boundaries ratio")
    assert run.segmenter_of("hammer").boundaries == "ratio"  # type: ignore[attr-defined]


def test_a_rule_by_name_brings_its_own_flags() -> None:
    run = parsed(
        "metaworld-quick --method er --keep PhaseBuckets --method.keep.stride 2 --draw Routed "
        "--method.draw.temperature 0.5 --penalty Dark --rehearse AsStored --segmenter AutoPC"
    )
    expected = replace(
        METHODS["er"],
        keep=PhaseBuckets(stride=2),
        draw=Routed(temperature=0.5),
        penalty=Dark(),
    )
    assert run.method == expected
    assert parsed("metaworld-quick --keep Nothing").budget is None
    assert parsed("metaworld-quick --policy tiny --suite metaworld").policy == run.policy


@pytest.mark.parametrize(
    ("words", "budget"),
    [
        ("--budget 7", Budget.per_task(7)),
        ("--budget-per-phase 7", Budget.per_phase(7)),
        ("--budget-bytes 7", Budget.bytes_per_task(7)),
        ("--budget-total 7", Budget.total(7)),
        ("--budget-total 7 --budget.floor 2", Budget.total(7, floor=2)),
        ("--budget-total-bytes 7", Budget.total_bytes(7)),
    ],
)
def test_a_budget_has_one_flag_for_every_way_of_counting(words: str, budget: Budget) -> None:
    assert parsed(f"metaworld-quick {words}").budget == budget


def test_a_file_stands_above_the_preset_and_below_the_flags(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"settings": {"fit": {"batch_size": 8}, "seed": 5}}))
    run = start("metaworld-quick", chosen(from_file=path))
    expected = preset("metaworld-quick")
    assert run == replace(expected, fit=replace(expected.fit, batch_size=8), seed=5)
    assert start("metaworld-quick", chosen(from_file=path, seed=1)).seed == 1


def test_a_whole_file_needs_no_preset(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    before = parsed("metaworld-alt --method er --budget 9 --fit.batch-size 8")
    path.write_text(json.dumps({"settings": settings_of(before)}))
    assert start("", chosen(from_file=path)) == before


def test_a_budget_flag_replaces_that_of_a_file_whatever_it_counts(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    in_bytes = parsed("metaworld-alt --method er --budget-bytes 90000")
    path.write_text(json.dumps({"settings": settings_of(in_bytes)}))
    assert start("", chosen(from_file=path)) == in_bytes
    assert start("", chosen(from_file=path, budget=9)) == parsed(
        "metaworld-alt --method er --budget 9"
    )
    assert start("", chosen(from_file=path, budget_bytes=7)) == in_bytes.with_budget(
        Budget.bytes_per_task(7)
    )
    other = start("", chosen(from_file=path, method="phaser"))
    assert (other.method_name, other.budget) == ("phaser", Budget.bytes_per_task(90000))


def test_a_file_that_leaves_settings_out_can_be_repeated(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    before = parsed("metaworld-alt --method er --budget 9")
    settings = settings_of(before)
    del settings["storage"]
    path.write_text(json.dumps({"settings": settings}))
    assert start("", chosen(from_file=path)) == before


def test_an_unknown_key_of_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"settings": {"fit": {"stepz": 8}}}))
    with pytest.raises(BadInput, match="stepz"):
        start("metaworld-quick", chosen(from_file=path))


@pytest.mark.parametrize(
    "words",
    [
        "metaworld-10 --method sequential",
        "metaworld-quick --method phaser-paper --budget 12 --seed 2",
        "metaworld-quick --method.draw.temperature 0.5 --method.draw.no-motion-only",
        "metaworld-alt --method er --suite.order reverse --fit.batch-size 8",
        "metaworld-quick --suite.task-list hammer drawer-open --policy.train-encoder",
        "metaworld-quick --method zero-budget --method.keep.zero-phase 1",
        "metaworld-quick --method.segmenter.boundaries ratio",
        "metaworld-quick --method er --budget-bytes 90000 --storage.codec png --seed 2",
        "metaworld-quick --method sequential --budget-bytes 90000",
        "metaworld-quick --budget-per-phase 4 --storage.codec jpeg:90",
        "metaworld-quick --budget-total 400 --budget.floor 2",
        "metaworld-quick --budget-total-bytes 90000 --encoders.vision policy",
    ],
)
def test_the_command_of_a_run_repeats_it(words: str) -> None:
    run = parsed(words)
    assert parsed(command_of(run).removeprefix("phaser run ")) == run


def test_seeds_are_numbers_and_spans() -> None:
    assert whole_numbers(["0-3", "2", "8"], flag="--seeds") == (0, 1, 2, 3, 8)


@pytest.mark.parametrize("word", ["3-1", "x", "0-99999999", "1.5", ""])
def test_other_words_are_no_seeds(word: str) -> None:
    with pytest.raises(BadInput, match="--seeds"):
        whole_numbers([word], flag="--seeds")
