"""A policy, a suite and rules of a separate installed package work everywhere ours do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[1] / "fixtures" / "plugin"
SRC = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a process that has the package installed beside ours."""
    place = tmp_path_factory.mktemp("installed")
    source = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(PLUGIN, source)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"),
            *("--no-build-isolation", "--target", str(place), str(source)),
        ],
        check=True,
        env={k: v for k, v in os.environ.items() if k != "PIP_CONSTRAINT"},
    )
    path = os.pathsep.join([str(SRC), str(place)])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def phaser(installed, *words, cwd, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "phaser.cli", *words],
        cwd=cwd,
        env=installed,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr[-3000:]
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def ran(installed, tmp_path_factory):
    """A finished run of the package's own preset."""
    folder = tmp_path_factory.mktemp("runs")
    phaser(installed, "run", "points", "--out", "one", "--json", cwd=folder)
    return folder


def test_the_conformance_checks_pass_for_all_four(installed, tmp_path):
    checks = (
        "from phaser.testing.keep import check_keep\n"
        "from phaser.testing.draw import check_draw\n"
        "from phaser.testing.policy import check_policy\n"
        "from phaser.testing.suite import check_suite\n"
        "from phaser_point.keep import LastFrames\n"
        "from phaser_point.draw import NewestTask\n"
        "from phaser_point.policy import PointLinear\n"
        "from phaser_point.suite import Points\n"
        "check_keep(LastFrames()); check_draw(NewestTask()); check_policy(PointLinear())\n"
        "check_suite(Points(), seeds=(1000, 1001))\n"
    )
    subprocess.run([sys.executable, "-c", checks], env=installed, cwd=tmp_path, check=True)


def test_the_listings_name_what_the_package_adds(installed, tmp_path):
    assert "last-newest" in phaser(installed, "methods", cwd=tmp_path)
    assert "points" in phaser(installed, "presets", cwd=tmp_path)


def test_a_run_writes_the_names_and_its_own_file_repeats_it_to_the_bit(installed, ran):
    settings = json.loads((ran / "one" / "run.json").read_text())["settings"]
    assert settings["suite"]["kind"] == "point"
    assert settings["policy"] == {"kind": "point-linear", "chunk_length": 4, "scale": 0.1}
    assert settings["method"]["keep"] == {"kind": "LastFrames", "skip": 0}
    assert settings["method"]["draw"] == {"kind": "NewestTask", "fading": 0.5}
    phaser(installed, "run", "--from", "one/run.json", "--out", "again", "--json", cwd=ran)
    for name in ("episodes.parquet", "losses.parquet", "routing.json"):
        assert (ran / "one" / name).read_bytes() == (ran / "again" / name).read_bytes()


def test_flags_change_what_the_package_brings(installed, ran):
    words = ["--policy.scale", "0.2", "--method.keep.skip", "1", "--suite.num-demos", "5"]
    phaser(installed, "run", "points", *words, "--out", "changed", "--json", cwd=ran)
    settings = json.loads((ran / "changed" / "run.json").read_text())["settings"]
    assert settings["policy"]["scale"] == 0.2
    assert settings["method"]["keep"]["skip"] == 1
    assert settings["suite"]["num_demos"] == 5


def test_rules_policies_and_suites_are_chosen_by_name(installed, ran):
    words = ["--suite", "point", "--policy", "point-linear", "--method", "er"]
    more = ["--keep", "LastFrames", "--fit.steps-per-task", "5", "--evaluation.rollouts-per-task"]
    phaser(installed, "run", "metaworld-10", *words, *more, "1", "--out", "named", cwd=ran)
    settings = json.loads((ran / "named" / "run.json").read_text())["settings"]
    assert settings["method"]["keep"]["kind"] == "LastFrames"
    assert settings["method"]["draw"]["kind"] == "Uniform"
    assert settings["suite"]["kind"] == "point"


def test_an_unknown_name_names_the_nearest(installed, tmp_path):
    said = phaser(installed, "run", "points", "--keep", "LastFrame", cwd=tmp_path, code=2)
    assert said == "phaser: unknown keep rule 'LastFrame'; did you mean LastFrames?\n"


def test_a_grid_of_our_methods_and_theirs_ends_in_one_report(installed, ran):
    words = ["--methods", "er", "last-newest", "sequential", "--seeds", "0-1", "--budget", "6"]
    phaser(installed, "grid", "points", *words, "--out", "grid", "--json", cwd=ran)
    found = json.loads(phaser(installed, "report", "grid", "--json", cwd=ran))
    assert [row["method"] for row in found["methods"]] == ["sequential", "er", "last-newest"]


def test_a_killed_run_goes_on_to_the_same_bits(installed, ran):
    folder = ran / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "phaser.cli", "run", "points", "--out", "killed", "--json"],
        cwd=ran,
        env=installed,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not (folder / "steps" / "00-right.parquet").exists():
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not (folder / "done.json").exists()
    phaser(installed, "run", "--resume", "killed", "--json", cwd=ran)
    for name in ("episodes.parquet", "losses.parquet", "routing.json"):
        assert (ran / "one" / name).read_bytes() == (folder / name).read_bytes()
    weights = sorted(path.name for path in (ran / "one" / "checkpoints").glob("*.safetensors"))
    for name in weights:
        one, two = (ran / run / "checkpoints" / name for run in ("one", "killed"))
        assert one.read_bytes() == two.read_bytes()
