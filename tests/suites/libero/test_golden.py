"""The golden episode, and every field of a protocol flipped: none of them goes unnoticed."""

from dataclasses import fields
from pathlib import Path

import pytest

from phaser.core.errors import BrokenFile
from phaser.suites.libero import golden as episode
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.golden import Golden, Outcome
from phaser.suites.libero.protocol import Protocol, changed, protocol_named

SEEN_AT_THE_START = {
    "cameras": ("agentview",),
    "image_size": 128,
    "orientation": "rotated",
    "wait_steps": 9,
    "wait_gripper": 0.0,
    "step_limits": (("libero-goal", 600),),
    "state": "pose",
    "fixtures": "in-sequence",
    "seed": 1,
}
SEEN_AT_THE_END = {"control_hz": 25, "gripper": "one-opens", "success": "at-end"}
SEEN_IN_THE_FRAME = {"quality": "official"}
FLIPPED = {**SEEN_AT_THE_START, **SEEN_AT_THE_END, **SEEN_IN_THE_FRAME}
PROTOCOL = protocol_named(episode.PROTOCOL)


@pytest.fixture
def assets(needs_libero: None) -> Path:
    return assets_folder("libero-goal")


@pytest.fixture(scope="module")
def golden() -> Golden:
    return episode.golden()


def test_the_golden_episode_replays_to_the_same_success(golden: Golden, assets: Path) -> None:
    found = episode.replay(golden.actions, PROTOCOL, assets)
    assert list(episode.differences(golden.outcome, found)) == []
    assert list(episode.protocol_differences(golden, PROTOCOL)) == []
    assert 0 < found.solved_at < len(golden.actions)


@pytest.mark.parametrize("field", SEEN_AT_THE_START)
def test_a_field_that_shows_before_the_first_action(
    field: str, golden: Golden, assets: Path
) -> None:
    found = episode.replay(golden.actions[:0], _flipped(field), assets)
    assert list(episode.start_differences(golden.outcome, found))


@pytest.mark.parametrize("field", SEEN_AT_THE_END)
def test_a_field_that_shows_in_how_the_episode_ends(
    field: str, golden: Golden, assets: Path
) -> None:
    found = episode.replay(golden.actions, _flipped(field), assets)
    assert found.solved_at == 0
    assert list(episode.differences(golden.outcome, found))


def test_a_short_step_limit_ends_the_episode_unsolved(golden: Golden, assets: Path) -> None:
    short = changed(PROTOCOL, step_limits=(("libero-goal", 5),))
    assert episode.replay(golden.actions, short, assets).solved_at == 0


def test_the_quality_of_drawing_shows_in_the_frame_s_hash(golden: Golden, assets: Path) -> None:
    as_recorded = episode.replay(golden.actions[:0], PROTOCOL, assets)
    official = episode.replay(golden.actions[:0], _flipped("quality"), assets)
    again = episode.replay(golden.actions[:0], PROTOCOL, assets)
    assert official.frame_hash != as_recorded.frame_hash == again.frame_hash


def test_no_field_of_a_protocol_was_left_out() -> None:
    assert set(FLIPPED) == {field.name for field in fields(Protocol)} - {"name"}


@pytest.mark.parametrize("field", FLIPPED)
def test_the_doctor_names_the_field_that_was_changed(field: str, golden: Golden) -> None:
    (line,) = episode.protocol_differences(golden, _flipped(field))
    assert line.startswith(f"{field} is ")


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("wrong", ["black", "flipped", "mirrored", "turned"])
def test_a_wrong_picture_is_caught(wrong: str, camera: int, golden: Golden) -> None:
    thumbnails = golden.outcome.thumbnails.copy()
    turns = {"flipped": slice(None, None, -1), "mirrored": (slice(None), slice(None, None, -1))}
    if wrong == "black":
        thumbnails[camera] = 0
    elif wrong == "turned":
        thumbnails[camera] = thumbnails[camera][::-1, ::-1]
    else:
        thumbnails[camera] = thumbnails[camera][turns[wrong]]
    values = {field.name: getattr(golden.outcome, field.name) for field in fields(Outcome)}
    found = Outcome(**{**values, "thumbnails": thumbnails})
    (line,) = episode.differences(golden.outcome, found)
    assert line.startswith(f"{golden.outcome.cameras[camera]} shows another picture")


def test_what_is_written_is_read_back_and_damage_is_named(
    golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "golden.safetensors"
    episode.write(golden, copy)
    assert copy.read_bytes() == episode.FILE.read_bytes()
    copy.write_bytes(copy.read_bytes()[:-1])
    monkeypatch.setattr(episode, "FILE", copy)
    with pytest.raises(BrokenFile, match="is damaged"):
        episode.golden()


def _flipped(field: str) -> Protocol:
    return changed(PROTOCOL, **{field: FLIPPED[field]})
