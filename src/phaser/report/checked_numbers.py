"""Numbers in a document, recomputed from the runs that they name.

A number is followed, on its line, by a comment that readers do not see:

    phaser keeps 61.5 <!-- phaser: runs/curve phaser asr at 20 --> %, that is
    +2.1 <!-- phaser: runs/curve phaser minus er asr --> points more.

The comment names a folder of runs (runs/curve@0-5: those of seeds 0 to 5), a method or two, a
quantity and, where the folder holds several budgets, one of them; a difference without one is the
mean over budgets. Or it names arms, folders whose runs differ in their seed alone, and no method:
`runs/ours minus runs/theirs asr`, where the quantity may also be a split (`report.splits`). The
last number before the comment is compared with what a report of that folder says, rounded to as
many decimals as the document shows. Comments inside code are not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from phaser.core.errors import BadInput, BrokenFile, UnknownName
from phaser.evaluation.comparison import PairedDifference, estimate_asr
from phaser.memory.budget import Budget
from phaser.report.arms import (
    Arm,
    Measured,
    difference,
    loss_difference,
    share,
    split_difference,
    training_ratio,
)
from phaser.report.by_budget import folders_by_budget, runs_by_budget
from phaser.report.curve import Curve, curves
from phaser.report.page import compare
from phaser.report.runs import finished_folders
from phaser.report.splits import SPLITS
from phaser.report.summary import MethodRow, Summary

COMMENT = re.compile(r"<!--\s*phaser:\s*(.*?)\s*-->")
NUMBER = re.compile(r"[+−-]?(?:\d+(?:\.\d+)?|\.\d+)")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
FORM = "RUNS METHOD [minus METHOD] QUANTITY [at BUDGET], or ARM [minus ARM, over ARM] QUANTITY"

Source = TypeVar("Source")
Quantity = Callable[[Source], float | None]

OF_METHOD: Mapping[str, Quantity[MethodRow]] = {
    "asr": lambda row: 100 * row.asr.mean,
    "asr-lower": lambda row: 100 * row.asr.interval.lower,
    "asr-upper": lambda row: 100 * row.asr.interval.upper,
    "nbt": lambda row: None if row.nbt is None else 100 * row.nbt,
    "forgetting": lambda row: None if row.forgetting is None else 100 * row.forgetting,
    "plasticity": lambda row: None if row.plasticity is None else 100 * row.plasticity,
    "seeds": lambda row: row.asr.num_seeds,
}
"""Rates in percent."""
OF_DIFFERENCE: Mapping[str, Quantity[PairedDifference]] = {
    "asr": lambda one: 100 * one.mean,
    "asr-lower": lambda one: 100 * one.interval.lower if one.interval else None,
    "asr-upper": lambda one: 100 * one.interval.upper if one.interval else None,
    "asr-half": lambda one: 100 * one.interval.half_width if one.interval else None,
    "p": lambda one: one.p_value,
    "holm": lambda one: one.p_corrected,
    "gap": lambda one: None if one.detectable is None else 100 * one.detectable,
    "equal-p": lambda one: one.equivalence.p_value if one.equivalence else None,
    "seeds": lambda one: one.num_seeds,
}
"""Differences in points."""
OF_ARM: Mapping[str, Quantity[Arm]] = {
    "asr": lambda arm: 100 * estimate_asr(arm.matrices).mean,
    "asr-lower": lambda arm: 100 * estimate_asr(arm.matrices).interval.lower,
    "asr-upper": lambda arm: 100 * estimate_asr(arm.matrices).interval.upper,
    "plasticity": lambda arm: 100 * arm.learnt,
    "progress": lambda arm: arm.progress,
    "loss": lambda arm: arm.final_loss,
    "frames": lambda arm: arm.frames_per_task,
    "kilobytes": lambda arm: arm.bytes_per_task[0] / 1000,
    "kilobytes-largest": lambda arm: arm.bytes_per_task[1] / 1000,
    "keeping-s": lambda arm: arm.keeping_s,
    "training-s": lambda arm: arm.training_s,
    "transition": lambda arm: 100 * arm.transition_share,
    "seeds": lambda arm: len(arm.runs),
    "orders": lambda arm: arm.orders,
}
"""Rates in percent; frames, kilobytes and seconds of keeping of a task, seconds of training of a
stream; time between tasks in percent of the training steps'."""
OF_MEASURED: Mapping[str, Quantity[Measured]] = {
    "": lambda one: one.mean,
    "-lower": lambda one: one.interval.lower if one.interval else None,
    "-upper": lambda one: one.interval.upper if one.interval else None,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedNumber:
    """A number of a document beside what its runs give."""

    file: str
    line: int
    comment: str
    written: str
    recomputed: str
    """Rounded as the document rounds."""
    start: int | None = None
    """Where the number begins in the document; None in pages and JSON, which reports write."""

    @property
    def agrees(self) -> bool:
        # A number that only one of the two has is written as nan, which equals nothing.
        return _plain(self.written) == _plain(self.recomputed)


@dataclass(slots=True)
class Checker:
    """Recomputes numbers; each folder of runs is read once."""

    _summaries: dict[str, dict[Budget | None, Summary]] = field(default_factory=dict)
    _curves: dict[str, tuple[Curve, ...]] = field(default_factory=dict)
    _arms: dict[str, Arm] = field(default_factory=dict)

    def check(self, path: Path) -> list[CheckedNumber]:
        """Every number of a document that names its runs; none at all is refused."""
        try:
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BrokenFile(f"{path} cannot be read ({error}); name a text file") from error
        if path.suffix in (".html", ".json"):
            from phaser.report.checked_pages import check_json, check_page

            return check_json(path, text) if path.suffix == ".json" else check_page(path, text)
        found = []
        for line, start, written, comment in _marked(path, text):
            try:
                value = self._value(comment)
            except BadInput as error:
                raise BadInput(f"{path}:{line}: {error}") from error
            decimals = len(written.partition(".")[2])
            found.append(
                CheckedNumber(
                    file=str(path),
                    line=line,
                    comment=comment,
                    written=written,
                    recomputed=f"{value:.{decimals}f}",
                    start=start,
                )
            )
        if not found:
            raise BadInput(
                f"{path} holds no number that names its runs; write <!-- phaser: {FORM} --> behind "
                "a number"
            )
        return found

    def _value(self, comment: str) -> float:
        words = comment.split()
        at = words[-1] if len(words) > 4 and words[-2] == "at" else None
        words = words[:-2] if at else words
        quantity = words[-1]
        if len(words) == 4 or (len(words) == 2 and quantity in OF_ARM):
            value = self._of_arms(words)
        elif len(words) == 3:
            folder, method, quantity = words
            value = _known(OF_METHOD, quantity)(self._row(folder, method, at))
        elif len(words) == 5 and words[2] == "minus":
            folder, method, _, baseline, quantity = words
            value = _known(OF_DIFFERENCE, quantity)(self._difference(folder, method, baseline, at))
        else:
            raise BadInput(f"'phaser: {comment}'; expected {FORM}")
        if value is None:
            raise BadInput(f"these runs have no {quantity} for 'phaser: {comment}'")
        return value

    def _of_arms(self, words: Sequence[str]) -> float | None:
        arms, quantity = [self._arm(name) for name in words[:-1:2]], words[-1]
        if len(arms) == 1:
            return _known(OF_ARM, quantity)(arms[0])
        if words[1] == "over" and quantity.startswith("training-s"):
            return _measured("training-s", quantity, training_ratio(*arms))
        if words[1] == "over":
            return _measured("asr", quantity, share(*arms), times=100)
        split = quantity.removesuffix("-lower").removesuffix("-upper")
        if words[1] == "minus" and split in SPLITS:
            return _measured(split, quantity, split_difference(arms[0], arms[1], SPLITS[split]))
        if words[1] == "minus" and quantity.startswith("loss"):
            return _measured("loss", quantity, loss_difference(*arms))
        if words[1] == "minus":
            return _known(OF_DIFFERENCE, quantity)(difference(*arms))
        raise BadInput(f"{words[1]!r} between two arms; expected 'minus' or 'over'")

    def _arm(self, folder: str) -> Arm:
        if folder not in self._arms:
            self._arms[folder] = Arm.read(Path(folder))
        return self._arms[folder]

    def _row(self, folder: str, method: str, at: str | None) -> MethodRow:
        rows = {row.method: row for row in self._summary(folder, at).table}
        if method not in rows:
            raise UnknownName(f"method in {folder}", method, rows)
        return rows[method]

    def _difference(
        self, folder: str, method: str, baseline: str, at: str | None
    ) -> PairedDifference:
        if at is None and len(self._reports(folder)) > 1:
            found = {
                (one.method, one.baseline): one.over_budgets
                for curve in self._curves[folder]
                for one in curve.contrasts
            }
        elif one := self._at_budget(folder, method, baseline, at):
            found = {(method, baseline): one}
        else:
            row = self._row(folder, method, at)
            found = {(method, name): one for name, one in row.differences.items()}
        if (method, baseline) not in found:
            known = ", ".join(" minus ".join(pair) for pair in found) or "nothing"
            raise BadInput(f"{folder} does not compare {method} with {baseline}; found {known}")
        return found[method, baseline]

    def _at_budget(
        self, folder: str, method: str, baseline: str, at: str | None
    ) -> PairedDifference | None:
        """The difference at one of several budgets, corrected for their number."""
        self._reports(folder)
        for curve in self._curves[folder]:
            for one in curve.contrasts:
                if (one.method, one.baseline) == (method, baseline):
                    by_slug = {budget.slug: found for budget, found in one.at_budget.items()}
                    return by_slug.get(at or "")
        return None

    def _summary(self, folder: str, at: str | None) -> Summary:
        reports = {one.slug if one else "": found for one, found in self._reports(folder).items()}
        if at is None and len(reports) == 1:
            return next(iter(reports.values()))
        if at not in reports:
            raise BadInput(f"{folder} has budgets {', '.join(reports)}; add 'at' and one of them")
        return reports[at]

    def _reports(self, folder: str) -> dict[Budget | None, Summary]:
        if folder not in self._summaries:
            runs = finished_folders([Path(folder)])
            given = folders_by_budget(runs)
            groups = dict(given) if given else {None: runs}
            self._summaries[folder] = {one: compare(cells)[1] for one, cells in groups.items()}
            self._curves[folder] = curves(runs_by_budget(runs))
        return self._summaries[folder]


def _marked(path: Path, text: str) -> Iterator[tuple[int, int, str, str]]:
    """Line, place in the text, number and comment, in the order of the document."""
    # Code becomes spaces, so that what follows keeps its line and place.
    shown = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    start = 0
    for comment in COMMENT.finditer(shown):
        line = shown.count("\n", 0, comment.start()) + 1
        start = max(start, shown.rfind("\n", 0, comment.start()) + 1)
        numbers = list(NUMBER.finditer(shown, start, comment.start()))
        if not numbers:
            raise BadInput(f"{path}:{line}: no number before 'phaser: {comment[1]}'")
        yield line, numbers[-1].start(), numbers[-1][0], comment[1]
        start = comment.end()


def _measured(name: str, quantity: str, found: Measured, *, times: float = 1) -> float | None:
    value = _known({f"{name}{end}": read for end, read in OF_MEASURED.items()}, quantity)(found)
    return None if value is None else times * value


def _known(quantities: Mapping[str, Quantity[Source]], name: str) -> Quantity[Source]:
    if name not in quantities:
        raise UnknownName("quantity", name, quantities)
    return quantities[name]


def _plain(number: str) -> float:
    return float(number.replace("−", "-"))
