"""CPU time of small pieces of work, best of many, taken in turns so that load hits all alike."""

import time
from collections.abc import Callable, Mapping


def best_cpu_ms(
    works: Mapping[str, Callable[[], object]], *, repetitions: int = 40
) -> dict[str, float]:
    """The thread's own CPU time of each piece; the pieces alternate within one run."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(repetitions):
        for name, work in works.items():
            begin = time.thread_time_ns()
            work()
            best[name] = min(best[name], (time.thread_time_ns() - begin) / 1e6)
    return best


def print_ratios(title: str, times: Mapping[str, float], *, baseline: str) -> None:
    """A table in milliseconds and as a share of the named baseline."""
    print(f"\n{title}")
    for name, milliseconds in times.items():
        ratio = milliseconds / times[baseline]
        mark = "  (baseline)" if name == baseline else ""
        print(f"  {name:44} {milliseconds:8.2f} ms  {ratio:5.2f} ×{mark}")
