"""`make soak`: a memory under everything that can happen to it, for as long as you like.

Random tasks are kept by two processes at once, some of which are killed (SIGKILL) or find the disk
full; tasks and episodes are forgotten, the memory is exported, and a long-lived process trains on
it all the while. After every round the memory is compared with what must be in it: every task that
was reported as kept, nothing that was reported as forgotten, every frame with its own content.
Ends with 1 at the first thing that is lost or wrong, or if the long-lived process grows.
"""

import argparse
import gc
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from soak_tasks import (
    MARK_BYTES,
    TOTAL_FRAMES,
    Demos,
    in_a_child,
    learn,
    learn_on_a_full_disk,
    mark_of,
    replay_in,
)

from phaser.memory.store import Store

MOST_TASKS = 40
WARM_UP = 0.25
"""Share of the rounds before the process's memory is watched."""
GROWTH_MB = 16.0
PHASER = "import sys; from phaser.cli.main import main; sys.exit(main())"
LONGEST_S = 120.0
"""A round that takes longer than this has hung."""


@dataclass
class Soak:
    """The memory, and what must be true of it."""

    folder: Path
    chance: random.Random
    kept: set[str] = field(default_factory=set)
    forgotten: dict[str, bool] = field(default_factory=dict)
    """Names of tasks that were reported as gone."""
    gone_episodes: set[tuple[str, int]] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    sizes: list[float] = field(default_factory=list)
    number: int = 0

    def round(self) -> None:
        what = self.chance.choices(
            [self.two_writers, self.full_disk, self.forget, self.forget_episode, self.export],
            [8, 3, 5, 3, 1],
        )[0]
        what()
        self.train()
        while len(self.kept) > MOST_TASKS:
            self.forget()
        self.check()
        self.counts["rounds"] += 1

    def new_name(self) -> str:
        self.number += 1
        return f"task-{self.number}"

    def two_writers(self) -> None:
        """Both keep tasks on one memory at once; one of them may be killed at any moment."""
        names = [[self.new_name() for _ in range(self.chance.randint(1, 3))] for _ in range(2)]

        def writer(mine: list[str]) -> Callable[[Callable[[str], None]], None]:
            def work(tell: Callable[[str], None]) -> None:
                for name in mine:
                    learn(self.folder, name)
                    tell(name)

            return work

        children = [in_a_child(writer(mine)) for mine in names]
        killed = self.kill_some(children)
        for (child, reading), mine in zip(children, names, strict=True):
            told = self.ended(child, reading, killed)
            self.kept |= set(told)
            self.perhaps(set(mine) - set(told), alive=child not in killed)
        self.counts["tasks kept"] += len(set(names[0] + names[1]) & self.kept)

    def full_disk(self) -> None:
        name, fails_at = self.new_name(), self.chance.randint(0, 14)

        def work(tell: Callable[[str], None]) -> None:
            learn_on_a_full_disk(self.folder, name, fails_at)
            tell(name)

        child, reading = in_a_child(work)
        self.kept |= set(self.ended(child, reading, set()))
        self.counts["full disks"] += 1

    def forget(self) -> None:
        if not self.kept:
            return
        name = self.chance.choice(sorted(self.kept))

        def work(tell: Callable[[str], None]) -> None:
            Store.open(self.folder).forget(task=name)
            tell(name)

        children = [in_a_child(work)]
        killed = self.kill_some(children)
        told = self.ended(*children[0], killed)
        self.kept.discard(name)
        if told:
            self.forgotten[name] = True
        self.perhaps({name}, alive=not killed)
        if name not in self.kept:
            self.forgotten[name] = True
        self.counts["tries to forget a task"] += 1

    def forget_episode(self) -> None:
        frames = [ref for one in Store.open(self.folder).memory.buckets for ref in one.frames]
        if not frames:
            return
        ref = self.chance.choice(frames)

        def work(tell: Callable[[str], None]) -> None:
            Store.open(self.folder).forget(task=ref.task, episode=ref.demo)
            tell("gone")

        children = [in_a_child(work)]
        killed = self.kill_some(children)
        if self.ended(*children[0], killed):
            self.gone_episodes.add((ref.task, ref.demo))
        if ref.task not in self.stored():
            self.kept.discard(ref.task)
            self.forgotten[ref.task] = True
        self.counts["tries to forget an episode"] += 1

    def export(self) -> None:
        if not self.stored():
            return
        with tempfile.TemporaryDirectory(prefix="phaser-soak-export-") as out:
            command = [sys.executable, "-c", PHASER, "memory", "export", str(self.folder)]
            done = subprocess.run(
                [*command, "--to", f"{out}/dataset", "--json"], capture_output=True, text=True
            )
            require(done.returncode == 0, f"export failed: {done.stderr}")
            held = Store.open(self.folder).num_frames
            require(json.loads(done.stdout)["num_frames"] == held, "export lost frames")
        self.counts["exports"] += 1

    def train(self) -> None:
        """This process lives as long as the soak does."""
        name = self.new_name()
        with replay_in(self.folder).task(Demos(name), instruction=f"do {name}", name=name) as task:
            for _ in range(10):
                for sample in task.sample(8):
                    require(len(sample["mark"]) == MARK_BYTES, "a rehearsed sample is damaged")
        self.kept.add(name)
        self.counts["tasks kept"] += 1

    def check(self) -> None:
        store = Store.open(self.folder, writing=True)
        store.verify()
        stored = {task.name for task in store.tasks}
        require(stored == self.kept, f"lost {self.kept - stored}, unexpected {stored - self.kept}")
        require(store.num_frames <= TOTAL_FRAMES, f"{store.num_frames} frames in the budget")
        refs = [ref for bucket in store.memory.buckets for ref in bucket.frames]
        require(len(refs) == store.num_frames, "the manifest counts other frames")
        for ref, sample in zip(refs, store.read(refs), strict=True):
            require((ref.task, ref.demo) not in self.gone_episodes, f"{ref} was forgotten")
            rows = Demos(ref.task)
            given = rows[rows.rows.index((ref.demo, ref.frame))]
            same = all(np.array_equal(sample[key], given[key]) for key in given)
            require(same and sample.keys() == given.keys(), f"{ref} has another content")
        self.check_bytes_are_gone()
        self.counts["frames compared"] += len(refs)
        gc.collect()
        self.sizes.append(resident_mb())

    def check_bytes_are_gone(self) -> None:
        marks = {mark_of(name): name for name in self.forgotten}
        for path in self.folder.rglob("*"):
            content = path.read_bytes() if path.is_file() else b""
            for mark, name in marks.items():
                require(mark not in content, f"{path.name} still holds bytes of {name}")
        while len(self.forgotten) > 2 * MOST_TASKS:
            self.forgotten.pop(next(iter(self.forgotten)))

    def stored(self) -> set[str]:
        return {task.name for task in Store.open(self.folder).tasks}

    def perhaps(self, names: set[str], *, alive: bool) -> None:
        """Tasks of a killed process are in, whole, or not at all."""
        found = names & self.stored()
        require(not (alive and names - found - self.forgotten.keys()), f"lost {names - found}")
        self.kept |= found

    def kill_some(self, children: list[tuple[int, int]]) -> set[int]:
        if self.chance.random() < 0.5:
            return set()
        time.sleep(self.chance.random() * 0.4)
        victim = self.chance.choice(children)[0]
        os.kill(victim, signal.SIGKILL)
        self.counts["kills"] += 1
        return {victim}

    def ended(self, child: int, reading: int, killed: set[int]) -> list[str]:
        begin = time.monotonic()
        with os.fdopen(reading) as lines:
            told = lines.read().splitlines()
        os.waitpid(child, 0)
        require(time.monotonic() - begin < LONGEST_S, "a process hung")
        failed = [line for line in told if line.startswith("! ")]
        require(not failed, f"a process failed: {failed}")
        return told


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SystemExit(f"soak: {otherwise}")


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--folder", type=Path, help="where; a small tmpfs is a small disk")
    parser.add_argument("--log", type=Path, default=Path("soak.log"))
    chosen = parser.parse_args()
    begin, said = time.monotonic(), 0.0
    lines = [f"soak: seed {chosen.seed}, {chosen.minutes:g} minutes"]
    print(lines[0], flush=True)
    with tempfile.TemporaryDirectory(prefix="phaser-soak-", dir=chosen.folder) as folder:
        soak = Soak(folder=Path(folder) / "memory", chance=random.Random(chosen.seed))
        soak.train()
        while (now := time.monotonic() - begin) < 60 * chosen.minutes:
            soak.round()
            if now - said > 60:
                said = now
                print(f"soak: {summary(soak, now)}", flush=True)
        watched = soak.sizes[int(len(soak.sizes) * WARM_UP) :]
        early, late = (float(np.median(part)) for part in np.array_split(watched, 2))
        lines.append(summary(soak, time.monotonic() - begin))
        lines.append(f"resident memory: {early:.1f} MB, then {late:.1f} MB")
        lines.append("nothing lost, nothing wrong")
    chosen.log.write_text("\n".join(lines) + "\n")
    print("\n".join(lines[1:]), flush=True)
    require(late - early < GROWTH_MB, f"the process grew from {early:.1f} to {late:.1f} MB")


def summary(soak: Soak, seconds: float) -> str:
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(soak.counts.items()))
    return f"{seconds / 60:.1f} min: {told}; {len(soak.kept)} tasks stored"


if __name__ == "__main__":
    main()
