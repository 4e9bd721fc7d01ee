"""Rollouts on fixed initial states: simulators in processes of their own, one batched policy call
for all that wait.

What an episode does depends on its task, its initial state and the policy, never on how many
simulators there are or what else they run. A simulator that crashes or hangs is replaced and its
episode run once more; a second failure ends the evaluation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait

from phaser.core.errors import BadInput, PhaserError
from phaser.core.policy import Actor
from phaser.core.streams import Stream, Streams
from phaser.core.suite import Milestones, Suite
from phaser.evaluation.draining import end_as_asked, termination_noted
from phaser.evaluation.messages import Act, Ended, Film, Job, Looked, Refused, Spent
from phaser.evaluation.simulators import Simulators, Worker
from phaser.evaluation.throughput import Throughput


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """One rollout: which initial state, whether it was solved, after how many steps."""

    task: str
    env_seed: int
    success: bool
    steps: int
    retried: bool = False
    """Its simulator was lost once."""
    milestones: Milestones = ()
    """How far it came, where the suite can tell."""


Finished = Callable[[Episode, Throughput], None]
Filmed = Callable[[Episode, Film], None]


def rollouts(
    policy: Actor,
    suite: Suite,
    jobs: Sequence[Job],
    streams: Streams,
    *,
    simulators: Simulators,
    finished: Finished = lambda episode, throughput: None,
    filmed: Filmed = lambda episode, film: None,
    actions_per_look: int | None = None,
) -> tuple[list[Episode], Throughput]:
    """Run every job; episodes come back in the order of the jobs, whoever ended first.

    filmed: given the pictures of every episode whose job asks for them.
    actions_per_look: actions of a chunk that are carried out before the policy looks again.
    """
    if type(suite).__module__ == "__main__":
        raise BadInput(
            f"{type(suite).__name__} is defined in the program itself, where simulator processes "
            "cannot find it; put it into a module of its own and import it"
        )
    running = _Evaluation(
        policy=policy,
        suite=suite,
        jobs=jobs,
        streams=streams,
        simulators=simulators,
        finished=finished,
        filmed=filmed,
        actions_per_look=actions_per_look,
    )
    try:
        with termination_noted() as asked_to_end:
            running.run(asked_to_end)
    except BaseException:
        # Episodes that were cut off would answer questions of the next evaluation.
        simulators.close()
        raise
    if asked_to_end():
        simulators.close()
        end_as_asked()
    return [running.episodes[index] for index in range(len(jobs))], running.throughput()


def solved_and_tried(episodes: Iterable[Episode]) -> dict[str, tuple[int, int]]:
    """Solved and tried rollouts of each task."""
    counts: dict[str, tuple[int, int]] = {}
    for episode in episodes:
        solved, tried = counts.get(episode.task, (0, 0))
        counts[episode.task] = (solved + episode.success, tried + 1)
    return counts


@dataclass(kw_only=True, eq=False)
class _Evaluation:
    """Which jobs wait, which run where, and what came of the others."""

    policy: Actor
    suite: Suite
    jobs: Sequence[Job]
    streams: Streams
    simulators: Simulators
    finished: Finished
    filmed: Filmed
    actions_per_look: int | None
    episodes: dict[int, Episode] = field(default_factory=dict)
    _running: dict[Worker, int] = field(default_factory=dict)
    _lost: set[int] = field(default_factory=set)
    """Jobs whose simulator failed once."""
    _spent: Spent = field(default_factory=Spent)
    _policy_s: float = 0.0

    def __post_init__(self) -> None:
        self._begun_s = time.monotonic()
        self._waiting = list(range(len(self.jobs)))

    def run(self, asked_to_end: Callable[[], bool]) -> None:
        while self._waiting or self._running:
            if asked_to_end():
                self._waiting.clear()
            self._start_jobs()
            if not self._running:
                return
            looked: dict[Worker, Looked] = {}
            for worker in self._answering():
                answer = worker.answer()
                if answer is None:
                    self._failed(worker)
                elif isinstance(answer, Refused):
                    raise answer.error()
                elif isinstance(answer, Ended):
                    self._ended(worker, answer)
                else:
                    self._spent += answer.spent
                    looked[worker] = answer
            if looked:
                self._act(looked)

    def throughput(self) -> Throughput:
        return Throughput(
            episodes=len(self.episodes),
            planned=len(self.jobs),
            elapsed_s=time.monotonic() - self._begun_s,
            policy_s=self._policy_s,
            spent=self._spent,
        )

    def _start_jobs(self) -> None:
        workers = self.simulators.ready(len(self._waiting) + len(self._running))
        for worker in workers:
            if not self._waiting or worker in self._running:
                continue
            idle = worker if worker.is_alive else self.simulators.replace(worker)
            others = {task for one in workers if one is not worker for task in one.tasks}
            index = self._best_for(idle, others)
            self._waiting.remove(index)
            self._running[idle] = index
            idle.start(self.suite, self.jobs[index])

    def _best_for(self, worker: Worker, built_by_others: set[str]) -> int:
        """A task whose simulator it has, the one in use first; else one that nobody has."""

        def cost(index: int) -> tuple[bool, bool, bool, int]:
            name = self.jobs[index].task.name
            in_use = worker.tasks[-1:] == [name]
            return not in_use, name not in worker.tasks, name in built_by_others, index

        return min(self._waiting, key=cost)

    def _answering(self) -> Iterable[Worker]:
        """Those that have said something, are gone, or have used up their time."""
        deadline = min(worker.deadline for worker in self._running)
        heard = wait(
            [worker.pipe for worker in self._running], max(0.0, deadline - time.monotonic())
        )
        now = time.monotonic()
        return [one for one in self._running if one.pipe in heard or one.deadline <= now]

    def _act(self, looked: dict[Worker, Looked]) -> None:
        begin = time.perf_counter()
        chunks = self.policy.act(
            [seen.observation for seen in looked.values()],
            [self._noise(self._running[worker], seen.steps) for worker, seen in looked.items()],
        )
        self._policy_s += time.perf_counter() - begin
        for worker, chunk in zip(looked, chunks, strict=True):
            worker.ask(Act(chunk=chunk[: self.actions_per_look]))

    def _noise(self, index: int, steps: int) -> Stream:
        """Depends on task, initial state and step only, not on what else is being run."""
        job = self.jobs[index]
        return self.streams.named("act", job.task.name, job.env_seed, steps)

    def _ended(self, worker: Worker, answer: Ended) -> None:
        self._spent += answer.spent
        index = self._running.pop(worker)
        episode = Episode(
            task=self.jobs[index].task.name,
            env_seed=self.jobs[index].env_seed,
            success=answer.success,
            steps=answer.steps,
            retried=index in self._lost,
            milestones=answer.milestones,
        )
        self.episodes[index] = episode
        if answer.film is not None:
            self.filmed(episode, answer.film)
        self.finished(episode, self.throughput())

    def _failed(self, worker: Worker) -> None:
        index = self._running.pop(worker)
        job = self.jobs[index]
        end = worker.end()
        if index in self._lost:
            raise PhaserError(
                f"the simulator of {job.task.name!r} failed twice from initial state "
                f"{job.env_seed}: it {end}"
            )
        self._lost.add(index)
        self._waiting.insert(0, index)
        self.simulators.replace(worker)
