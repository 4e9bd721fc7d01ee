"""The verifier over real HTTP, with a server that answers: phases, transcripts, limits."""

import json
import socket

import pytest
from chat_server import Reply, serving
from verifying import DEMOS, FOUND, GOOD, find, verifier

from phaser.core.errors import BrokenFile
from phaser.phases.stage_info import read_stage_info, write_stage_info
from phaser.phases.verify import VERIFIED_SOURCE
from phaser.phases.vlm import Spending

pytest.importorskip("openai", reason="the extra 'vlm' is not installed")
pytestmark = pytest.mark.usefixtures("only_our_key")


def test_the_made_up_demonstration_has_two_candidates():
    assert [one.step for one in FOUND] == [40, 60]


def test_a_good_answer_becomes_the_phases_of_every_demonstration(tmp_path):
    with serving(Reply(json.dumps(GOOD))) as server:
        found = find(verifier(server.url, tmp_path))
    assert (found.source, found.flag) == (VERIFIED_SOURCE, "")
    assert found.segmentations[0].boundaries == (40, 62, 80)
    assert found.segmentations[0].labels == tuple(one["name"] for one in GOOD["phases"])
    assert found.segmentations[1].boundaries[0] == 44
    assert found.segmentations[1].labels == found.segmentations[0].labels
    origins = [one.origin for one in found.verdict.boundaries]
    assert origins == ["accepted", "relocated", "inserted"]
    path = tmp_path / "stage_info.json"
    stages = found.stages("put the cup on the shelf")
    write_stage_info(path, {"cup": stages})
    assert read_stage_info(path) == {"cup": stages}
    assert stages.episode_segmenter().segment(DEMOS) == found.segmentations


def test_the_request_shows_frames_around_every_candidate_and_asks_for_the_schema(tmp_path):
    with serving(Reply(json.dumps(GOOD))) as server:
        find(verifier(server.url, tmp_path, max_frames=12))
    request = server.requests[0]
    content = request["messages"][1]["content"]
    images = [part for part in content if part["type"] == "image_url"]
    assert len(images) == 12
    assert all(one["image_url"]["url"].startswith("data:image/jpeg;base64,") for one in images)
    assert request["response_format"]["json_schema"]["strict"] is True
    assert "C2: t=60" in content[0]["text"]
    transcript = json.loads(next(tmp_path.glob("*.json")).read_text())
    shown = {one["step"] for one in transcript["request"]["frames"]}
    assert {0, 40, 60, 99, 38, 42, 58, 62} <= shown


def test_video_is_sent_as_one_mp4(tmp_path):
    pytest.importorskip("av", reason="the extra 'video' is not installed")
    with serving(Reply(json.dumps(GOOD))) as server:
        find(verifier(server.url, tmp_path, media="video"))
    (video,) = (p for p in server.requests[0]["messages"][1]["content"] if p["type"] != "text")
    assert video["video_url"]["url"].startswith("data:video/mp4;base64,")


def test_the_second_answer_counts_when_it_is_good(tmp_path):
    with serving(Reply("I think…"), Reply(json.dumps(GOOD))) as server:
        found = find(verifier(server.url, tmp_path))
    assert (found.source, len(server.requests)) == (VERIFIED_SOURCE, 2)
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_a_server_that_recovers_is_asked_again(tmp_path):
    with serving(Reply(status=429, body=b"{}"), Reply(json.dumps(GOOD))) as server:
        assert find(verifier(server.url, tmp_path)).source == VERIFIED_SOURCE


def test_a_server_without_schemas_is_asked_without(tmp_path):
    with serving(Reply(status=400, body=b"{}"), Reply(json.dumps(GOOD))) as server:
        assert find(verifier(server.url, tmp_path)).source == VERIFIED_SOURCE
    assert "response_format" not in server.requests[1]


def test_the_same_question_is_paid_once_and_replays_without_a_socket(tmp_path, monkeypatch):
    with serving(Reply("hm"), Reply(json.dumps(GOOD))) as server:
        first = find(verifier(server.url, tmp_path))
        second = find(verifier(server.url, tmp_path))
    assert len(server.requests) == 2

    def no_socket(*_, **__):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_socket)
    monkeypatch.setattr(socket, "create_connection", no_socket)
    monkeypatch.setattr(socket, "getaddrinfo", no_socket)
    assert first == second == find(verifier(server.url, tmp_path, offline=True))
    fresh = find(verifier(server.url, tmp_path / "none", offline=True))
    assert fresh.flag.startswith("not verified: offline, and no transcript")


def test_another_frame_is_another_question(tmp_path):
    with serving(Reply(json.dumps(GOOD))) as server:
        find(verifier(server.url, tmp_path))
        find(verifier(server.url, tmp_path), "put the mug on the shelf")
        find(verifier(server.url, tmp_path, max_frames=20))
    assert len(server.requests) == 3


def test_a_transcript_that_was_changed_is_refused(tmp_path):
    with serving(Reply(json.dumps(GOOD))) as server:
        find(verifier(server.url, tmp_path))
        (path,) = tmp_path.glob("*.json")
        path.write_text(path.read_text().replace("put the cup", "put the mug"))
        with pytest.raises(BrokenFile, match="delete it"):
            find(verifier(server.url, tmp_path))


def test_limits_hold_before_anything_is_sent(tmp_path):
    with serving(Reply("hm"), Reply(json.dumps(GOOD))) as server:
        none = find(verifier(server.url, tmp_path, spending=Spending(max_calls=0)))
        few = find(verifier(server.url, tmp_path, spending=Spending(max_tokens=5000)))
        assert server.requests == []
        one = find(verifier(server.url, tmp_path, spending=Spending(max_calls=1)))
        assert len(server.requests) == 1
    assert "limit of 0 calls" in none.flag
    assert "the limit is 5000" in few.flag
    assert "limit of 1 calls" in one.flag


def test_failed_requests_count_as_calls_and_tokens_follow_the_server(tmp_path):
    spending = Spending(max_calls=10)
    with serving(Reply(status=500, body=b"{}"), Reply(json.dumps(GOOD), usage=777)) as server:
        find(verifier(server.url, tmp_path, spending=spending))
    assert (spending.num_calls, spending.num_tokens) == (2, 777)
