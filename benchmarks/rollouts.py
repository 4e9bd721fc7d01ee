"""`python -m benchmarks.rollouts --out DIR`: episodes per second, the usual loop against ours.

Scripted experts say once what is done in every episode; all ways of running them then carry out the
same actions in chunks, given by a stand-in policy that costs nothing. The ways take turns. By the
clock, so on a machine that does nothing else; CPU seconds stand beside it. Simulators that are kept
between evaluations are made before the clock starts.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import control_step
from benchmarks.interleaved import Ratio
from benchmarks.naive_rollouts import NaiveLibero, NaiveMetaWorld, naive_rollouts
from benchmarks.publishing import publish
from phaser.core.demonstration import Task
from phaser.core.policy import Observation
from phaser.core.streams import Stream, Streams
from phaser.evaluation.messages import Job
from phaser.evaluation.rollouts import rollouts
from phaser.evaluation.simulators import Simulators, available_cores
from phaser.suites.libero.experts.expert import Expert as LiberoExpert
from phaser.suites.libero.suite import Libero
from phaser.suites.metaworld.env import MetaWorldEnv
from phaser.suites.metaworld.libraries import Expert
from phaser.suites.metaworld.suite import MetaWorld

CHUNK = 8
NAIVE = "naive loop"
STREAMS = Streams(0)
AnySuite = MetaWorld | Libero


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What one way of running all episodes took."""

    successes: int
    clock_s: float
    processor_s: float


class Replayed:
    """A policy that knows every episode by heart: chunks by the key of their noise."""

    def __init__(self) -> None:
        self.contract: dict[str, Any] = {}
        self._chunks: dict[int, np.ndarray] = {}

    def learn(self, job: Job, actions: Sequence[np.ndarray]) -> None:
        for start in range(0, job.horizon, CHUNK):
            chunk = [*actions[start : start + CHUNK]] or [actions[-1]]
            chunk += [actions[-1]] * (CHUNK - len(chunk))
            noise = STREAMS.named("act", job.task.name, job.env_seed, start)
            self._chunks[noise.key] = np.stack(chunk)

    def act(self, observations: Sequence[Observation], streams: Sequence[Stream]) -> np.ndarray:
        return np.stack([self._chunks[stream.key] for stream in streams])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("rollouts"), help="two files in here")
    parser.add_argument("--suites", nargs="+", default=["metaworld", "libero"])
    parser.add_argument("--tasks", type=int, default=4, help="the first so many of each suite")
    parser.add_argument("--states", type=int, default=2, help="initial states of each task")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-control-step", action="store_true", help="leave LIBERO's step out")
    chosen = parser.parse_args()
    found: dict[str, Any] = {"cores": available_cores(), "chunk": CHUNK, "suites": {}}
    for name in chosen.suites:
        found["suites"][name] = measure(
            name, num_tasks=chosen.tasks, num_states=chosen.states, rounds=chosen.rounds
        )
    if "libero" in chosen.suites and not chosen.no_control_step:
        found["control_step"] = control_step.measure()
    publish(chosen.out, "rollouts", found, markdown(found))


def measure(name: str, *, num_tasks: int, num_states: int, rounds: int) -> dict[str, Any]:
    suite: AnySuite = MetaWorld() if name == "metaworld" else Libero()
    jobs = [
        Job(task=task, env_seed=seed, horizon=suite.horizon(task))
        for task in suite.tasks()[:num_tasks]
        for seed in suite.evaluation_seeds(num_states)
    ]
    policy = Replayed()
    for job in jobs:
        policy.learn(job, expert_actions(suite, job))
    world = NaiveLibero(suite.protocol) if isinstance(suite, Libero) else NaiveMetaWorld()
    numbers = sorted({1, available_cores()})
    kept = {_way(number): Simulators(number) for number in numbers}
    try:
        ways = {NAIVE: lambda: _naive(policy, world, jobs)}
        ways |= {
            way: lambda simulators=simulators: _ours(policy, suite, jobs, simulators)  # type: ignore[misc]
            for way, simulators in kept.items()
        }
        turns = _in_turns(ways, rounds)
    finally:
        for simulators in kept.values():
            simulators.close()
    return {"episodes": len(jobs), "rounds": rounds, "ways": _compared(turns, len(jobs))}


def _way(num_simulators: int) -> str:
    return f"ours, {num_simulators} simulator{'s' * (num_simulators > 1)}"


def expert_actions(suite: AnySuite, job: Job) -> list[np.ndarray]:
    """What the scripted expert does from one initial state, to success or the step limit."""
    env, decide = _expert(suite, job.task, job.env_seed)
    actions: list[np.ndarray] = []
    while len(actions) < job.horizon:
        actions.append(decide())
        if env.step(actions[-1]):
            break
    return actions


def _expert(suite: AnySuite, task: Task, seed: int) -> tuple[Any, Callable[[], np.ndarray]]:
    if isinstance(suite, Libero):
        robot = suite.make_env(task)
        robot.place(seed)
        expert = LiberoExpert(task.name, robot.simulator.model, robot.simulator.data)
        return robot, lambda: suite.protocol.action(np.clip(expert.decide()[0], -1.0, 1.0))
    arm, scripted = MetaWorldEnv(task), Expert(task.name)
    arm.place(seed)
    return arm, lambda: scripted.act(arm.full_state)


def _in_turns(ways: dict[str, Callable[[], Turn]], rounds: int) -> dict[str, list[Turn]]:
    names = list(ways)
    for way in ways.values():
        way()
    turns: dict[str, list[Turn]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            turns[name].append(ways[name]())
            print(f"{name}: {turns[name][-1]}", flush=True)
    return turns


def _naive(policy: Replayed, world: NaiveMetaWorld | NaiveLibero, jobs: list[Job]) -> Turn:
    clock, processor = time.perf_counter(), time.process_time()
    successes = naive_rollouts(policy, world, jobs, STREAMS)
    return Turn(
        successes=successes,
        clock_s=time.perf_counter() - clock,
        processor_s=time.process_time() - processor,
    )


def _ours(policy: Replayed, suite: AnySuite, jobs: list[Job], simulators: Simulators) -> Turn:
    clock, processor = time.perf_counter(), time.process_time()
    episodes, throughput = rollouts(policy, suite, jobs, STREAMS, simulators=simulators)
    return Turn(
        successes=sum(one.success for one in episodes),
        clock_s=time.perf_counter() - clock,
        processor_s=time.process_time() - processor + throughput.spent.processor_s,
    )


def _compared(turns: dict[str, list[Turn]], num_episodes: int) -> dict[str, Any]:
    clocks = {name: [turn.clock_s for turn in done] for name, done in turns.items()}
    processors = {name: [turn.processor_s for turn in done] for name, done in turns.items()}
    return {
        name: {
            "successes": sorted({turn.successes for turn in done}),
            "episodes_per_s": num_episodes / float(np.median(clocks[name])),
            "processor_s_per_episode": float(np.median(processors[name])) / num_episodes,
            "times_faster": asdict(Ratio.of(clocks[NAIVE], clocks[name])),
            "times_less_processor": asdict(Ratio.of(processors[NAIVE], processors[name])),
        }
        for name, done in turns.items()
    }


def markdown(found: dict[str, Any]) -> str:
    lines = [
        "| suite | way | solved | episodes/s | × faster (95 %) | CPU s/episode | × less CPU |",
        "|---|---|---|---|---|---|---|",
    ]
    for suite, measured in found["suites"].items():
        for way, row in measured["ways"].items():
            faster = row["times_faster"]
            solved = " or ".join(map(str, row["successes"]))
            lines.append(
                f"| {suite} | {way} | {solved}/{measured['episodes']} "
                f"| {row['episodes_per_s']:.2f} | {faster['median']:.1f} "
                f"({faster['low']:.1f} to {faster['high']:.1f}) "
                f"| {row['processor_s_per_episode']:.2f} "
                f"| {row['times_less_processor']['median']:.1f} |"
            )
    tables = "\n".join([*lines, ""])
    if "control_step" in found:
        tables += "\n" + control_step.markdown(found["control_step"])
    return tables


if __name__ == "__main__":
    main()
