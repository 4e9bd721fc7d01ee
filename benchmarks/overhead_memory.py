"""The most memory that torch holds at once during some work, from its own record of allocations.

Peak resident memory of a process would also count what the allocator keeps, and differs from run to
run; torch's record is exact and the same every time. Arrays of numpy are not in it.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace

from safetensors.torch import save
from torch.profiler import ProfilerActivity, profile

from benchmarks.overhead_cases import Case
from phaser.core.ports import Draw
from phaser.training.stream import MethodState

STEPS = 3
"""From the second on the optimiser's moments are there."""
AT_EVERY_STEP = {"every_step": True, "measure_every": 1}
"""How rules that ask the policy say that they ask at every step."""


def peak_bytes(work: Callable[[], object]) -> int:
    """Above what was held before."""
    with _quiet(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        result = work()
    events = record.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    held = highest = 0
    for _, change in changes:
        held += change
        highest = max(highest, held)
    del result
    return highest


def most_bytes(case: Case) -> int:
    """The peak of a few steps or of a transition, on top of what earlier tasks left.

    Every step measures, however seldom the method does: a peak counts whenever it comes.
    """
    often = replace(case, method=replace(case.method, draw=measuring_often(case.method.draw)))
    steps = peak_bytes(often.learning(steps=STEPS))
    transition = case.transition()
    between = peak_bytes(transition) if transition else 0
    return held_bytes(case.state) + max(steps, between)


def measuring_often(draw: Draw) -> Draw:
    """The same rule, at every step."""
    names = {field.name for field in fields(draw)}
    return replace(draw, **{name: AT_EVERY_STEP[name] for name in names & AT_EVERY_STEP.keys()})


def held_bytes(state: MethodState) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in state.tensors().values())


def bytes_on_disk(state: MethodState) -> int:
    """As the run writes it after each task."""
    tensors = state.tensors()
    return len(save(tensors)) if tensors else 0


@contextmanager
def _quiet() -> Iterator[None]:
    """The profiler's library writes two lines each time, past Python's own streams."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
