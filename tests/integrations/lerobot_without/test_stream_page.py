"""What is measured of a stream, and its page, as far as they need no LeRobot."""

from pathlib import Path

from phaser.core.segmentation import Phase, Segmentation
from phaser.integrations.lerobot.measuring import (
    LOSSES,
    Chosen,
    add_losses,
    chosen_frames,
    read_chosen,
    read_losses,
    write_chosen,
)
from phaser.integrations.lerobot.page import loss_table, read_stream, sentence, write_page
from phaser.integrations.lerobot.progress import Learnt, Progress


def cut(*lengths: int) -> Segmentation:
    edges = [sum(lengths[:place]) for place in range(len(lengths) + 1)]
    return Segmentation(
        num_frames=edges[-1],
        phases=tuple(
            Phase(label=label, start=start, stop=stop)
            for label, start, stop in zip(("reach", "grasp"), edges, edges[1:], strict=False)
        ),
    )


def row(after: int, task: int, loss: float, phase: int = 0) -> dict[str, object]:
    return {
        "after_task": "ab"[after],
        "after_index": after,
        "task": "ab"[task],
        "task_index": task,
        "phase_index": phase,
        "phase": ("reach", "<grasp>")[phase],
        "phase_share": 0.5,
        "loss": loss,
        "num_frames": 4,
    }


def learnt(name: str) -> Learnt:
    return Learnt(
        name=name,
        repo_id=f"me/{name}",
        root=None,
        episodes=None,
        held_out=(9,),
        instruction="do <it>",
        method="er",
        output="out",
        num_steps=3,
        statistics="all-so-far",
    )


def test_measured_frames_are_held_out_spread_evenly_and_of_every_phase(tmp_path: Path) -> None:
    found = chosen_frames({0: cut(3, 2), 7: cut(10, 4), 9: cut(8, 2)}, [7, 9], most=6)
    assert [one.phase for one in found] == ["reach", "grasp"]
    assert [one.share for one in found] == [18 / 24, 6 / 24]
    assert found[0].frames == ((7, 0), (7, 3), (7, 6), (9, 0), (9, 3), (9, 7))
    assert found[1].frames == ((7, 10), (7, 11), (7, 12), (7, 13), (9, 8), (9, 9))
    write_chosen(tmp_path / "frames.json", found)
    assert read_chosen(tmp_path / "frames.json") == found
    assert isinstance(found[0], Chosen)


def test_a_measurement_that_is_made_again_replaces_the_first(tmp_path: Path) -> None:
    path = tmp_path / LOSSES
    add_losses(path, [row(0, 0, 1.0)])
    add_losses(path, [row(1, 0, 2.0), row(1, 1, 3.0)])
    add_losses(path, [row(1, 0, 4.0)])
    assert [one["loss"] for one in read_losses(path)] == [1.0, 4.0]


def test_the_page_tells_what_became_of_the_first_dataset(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    for name in "ab":
        progress.add(learnt(name))
    add_losses(progress.folder / LOSSES, [row(0, 0, 0.5), row(0, 0, 0.7, 1)])
    add_losses(progress.folder / LOSSES, [row(1, 0, 1.0), row(1, 0, 2.0, 1), row(1, 1, 0.25)])
    stream = read_stream(tmp_path)
    assert loss_table(*stream)[1] == [["a", "0.6", "1.5"], ["b", "–", "0.25"]]
    assert "from 0.6 when it was learnt to 1.5 after the last" in sentence(*stream)
    page = write_page(tmp_path).read_text()
    assert "+1.3" in page, "growth of the second phase"
    assert "&lt;grasp&gt;" in page
    assert "<it>" not in page
    assert "compare two policies after the same dataset" in page
