"""`phaser lerobot-train` around the real training script: streams, kills, processes."""

import json
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="module")
def killed_stream(arms: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two video datasets with two forked workers; killed in the second one, then resumed."""
    from tiny_runs import ACT, FORK, RUN, SMALL, command, started

    folder = tmp_path_factory.mktemp("stream")
    words = [*ACT, *RUN, *FORK, *SMALL, "--steps=4", "--save_freq=2", f"--output_dir={folder}/out"]
    stream = ["--stream", arms["left"], arms["right"]]
    log = folder / "log.txt"
    first = started(command(*stream, *words), log)
    last = folder / "out" / "001-right" / "checkpoints" / "last"
    deadline = time.monotonic() + 900
    while first.poll() is None and not last.is_symlink():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    learnt = json.loads((folder / "out/memory/lerobot/stream.json").read_text())["tasks"]
    assert [one["name"] for one in learnt] == ["left"], log.read_text()[-3000:]
    again = started(command(*stream, *words, "--resume=true"), log)
    assert again.wait() == 0, log.read_text()[-3000:]
    return folder


def test_a_killed_stream_goes_on_and_ends_with_everything_in_its_place(killed_stream: Path) -> None:
    from tiny_runs import losses

    from phaser.memory.store import Store

    memory = killed_stream / "out" / "memory"
    log = (killed_stream / "log.txt").read_text()
    assert "12 frames of 1 earlier tasks to rehearse" in log
    assert [one.name for one in Store.open(memory).tasks] == ["left", "right"]
    assert Store.open(memory).certificate()["frames_per_task"] == {"left": 12, "right": 12}
    config = killed_stream / "out/001-right/checkpoints/000004/pretrained_model/train_config.json"
    found = json.loads(config.read_text())
    assert found["dataset"]["episodes"] is None, "held-out episodes are not the user's words"
    measured = losses(memory)
    assert sorted(measured) == [(0, 0), (1, 0), (1, 1)]
    phases = {row["phase"] for row in measured[1, 0]}
    assert len(phases) > 1
    assert phases == {row["phase"] for row in measured[0, 0]}
    assert "held-out loss\ndataset" in log
    assert (memory / "lerobot" / "report.html").read_text().startswith("<!doctype html>")


def test_held_out_episodes_are_the_last_and_never_trained_on(killed_stream: Path) -> None:
    learnt = json.loads((killed_stream / "out/memory/lerobot/stream.json").read_text())["tasks"]
    assert [one["held_out"] for one in learnt] == [[3], [3]]
    log = (killed_stream / "log.txt").read_text()
    assert "dataset.num_episodes=3" in log
    from phaser.memory.store import Store

    memory = Store.open(killed_stream / "out" / "memory")
    kept = {ref.demo for bucket in memory.memory.buckets for ref in bucket.frames}
    assert kept <= {0, 1, 2}


def test_the_same_stream_again_has_nothing_left_to_do(
    killed_stream: Path, arms: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    from tiny_runs import ACT, RUN, SMALL

    from phaser.cli.main import execute

    words = ["lerobot-train", "--stream", str(arms["left"]), str(arms["right"]), *ACT, *RUN, *SMALL]
    words.append(f"--output_dir={killed_stream}/out")
    assert execute(words) == 2
    assert "2 of 2 datasets of this stream are learnt already" in capsys.readouterr().err
    assert execute([*words, "--resume=true"]) == 0
    assert "after right" in capsys.readouterr().out


def test_two_processes_share_one_stream(arms: dict[str, Path], tmp_path: Path) -> None:
    from tiny_runs import ACT, RUN, SMALL, command, losses, started

    from phaser.memory.store import Store

    # What `accelerate launch` starts; on a CPU it would start mpirun instead.
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    words = ["--stream", arms["left_png"], arms["right_png"], *ACT, *RUN, *SMALL]
    words += ["--steps=2", "--num_workers=0", f"--output_dir={tmp_path}/out"]
    log = tmp_path / "log.txt"
    code = started(command(*words, launcher=launcher), log).wait(timeout=1500)
    assert code == 0, log.read_text()[-3000:]
    memory = tmp_path / "out" / "memory"
    assert "Effective batch size: 8 x 2 = 16" in log.read_text()
    assert Store.open(memory).certificate()["frames_per_task"] == {"left_png": 12, "right_png": 12}
    assert sorted(losses(memory)) == [(0, 0), (1, 0), (1, 1)]


@pytest.fixture(scope="module")
def single_runs(arms: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """One run per dataset with a shared memory, in this process."""
    from tiny_runs import ACT, RUN, SMALL

    from phaser.cli.main import execute

    folder = tmp_path_factory.mktemp("single")
    shared = [*RUN, *SMALL, "--num_workers=0", "--steps=3", f"--replay.folder={folder}/memory"]

    def run(name: str, *words: str) -> int:
        data = [f"--dataset.repo_id=made/{name}", f"--dataset.root={arms[name]}"]
        return execute(["lerobot-train", *data, f"--output_dir={folder}/{name}", *shared, *words])

    first = run("left_png", *ACT)
    policy = folder / "left_png" / "checkpoints" / "last" / "pretrained_model"
    later = [f"--policy.path={policy}", "--policy.push_to_hub=false", "--policy.device=cpu"]
    second = run("right_png", *later)
    return SimpleNamespace(folder=folder, run=run, codes=(first, second), later=later)


def test_single_runs_share_a_memory_and_know_the_datasets_before(
    single_runs: SimpleNamespace,
) -> None:
    from tiny_runs import losses

    assert single_runs.codes == (0, 0)
    assert sorted(losses(single_runs.folder / "memory")) == [(0, 0), (1, 0), (1, 1)]


def test_a_dataset_is_not_learnt_twice_under_one_name(
    single_runs: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert single_runs.run("left_png", *single_runs.later, "--output_dir=again") == 2
    assert "'left_png' is learnt already" in capsys.readouterr().err


def test_the_checkpoint_carries_the_statistics_of_both_datasets(
    single_runs: SimpleNamespace,
) -> None:
    from safetensors.numpy import load_file

    saved = single_runs.folder / "right_png" / "checkpoints" / "last" / "pretrained_model"
    (path,) = saved.glob("policy_preprocessor_step_*_normalizer_processor.safetensors")
    in_force = json.loads((single_runs.folder / "memory/lerobot/statistics.json").read_text())
    for name in ("mean", "std"):
        assert load_file(path)[f"action.{name}"] == pytest.approx(
            in_force["action"][name], rel=1e-5
        )


def test_weights_by_row_are_refused_with_rehearsal(
    single_runs: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    from tiny_runs import IS_06

    flag = "--sample_weighting.type=uniform" if IS_06 else "--use_rabc=true"
    assert single_runs.run("left_png", *single_runs.later, flag, "--output_dir=weighted") == 2
    assert "rehearsed samples would get weights of others" in capsys.readouterr().err
