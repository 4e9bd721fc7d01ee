"""Numbers of a document are recomputed from the runs that they name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from written_runs import write_run_folder

from phaser.cli import main
from phaser.memory.budget import Budget
from phaser.report.updated_numbers import alike

Check = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs/one (20 frames) and runs/two (5 and 20 frames)."""
    found = tmp_path_factory.mktemp("checked")
    for folder, budgets in (("one", (20,)), ("two", (5, 20))):
        for budget in budgets:
            for seed in range(6):
                for method, counts in (("er", (4, 5)), ("phaser", (6, 5 + seed % 2))):
                    write_run_folder(
                        found / "runs" / folder / f"{method}-b{budget}-s{seed}",
                        method,
                        seed,
                        tasks=(f"first-{seed}", f"second-{seed}"),
                        budget=Budget.per_task(budget),
                        final=counts,
                    )
    return found


@pytest.fixture
def check(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Check:
    """Checks a document beside the runs."""
    monkeypatch.chdir(place)

    def run(text: str, *more: str) -> tuple[int, str, str]:
        Path("page.md").write_text(text)
        code = main.execute(["report", "--check", "page.md", *more])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_numbers_that_agree_pass_in_the_rounding_of_the_document(check: Check) -> None:
    text = (
        "er keeps **45** % <!-- phaser: runs/one er asr -->, phaser 57.50 "
        "<!-- phaser: runs/one phaser asr -->: +12.5 <!-- phaser: runs/one phaser minus er asr --> "
        "points, p = .03 <!-- phaser: runs/one phaser minus er p -->.\n"
    )
    assert check(text) == (0, "4 numbers recomputed, 0 of them differ\n", "")


def test_a_number_that_differs_is_named_with_its_line(check: Check) -> None:
    text = "# Results\n\nIt keeps 45.1 <!-- phaser: runs/one er asr --> %.\n"
    code, out, _ = check(text)
    assert code == 1
    assert out == (
        "page.md:3: 45.1, recomputed 45.0: runs/one er asr\n1 number recomputed, 1 of them differ\n"
    )


def test_a_negative_number_may_have_a_real_minus_sign(check: Check) -> None:
    assert check("| −12.5 <!-- phaser: runs/one er minus er-even asr --> |\n")[0] == 2
    assert check("| −12.5 <!-- phaser: runs/one phaser minus er asr --> |\n")[0] == 1


def test_a_difference_without_a_budget_is_the_mean_over_budgets(check: Check) -> None:
    text = (
        "+12.5 <!-- phaser: runs/two phaser minus er asr -->, "
        "6 <!-- phaser: runs/two phaser minus er seeds at 5 -->"
    )
    assert check(text)[:2] == (0, "2 numbers recomputed, 0 of them differ\n")


def test_a_folder_may_be_cut_down_to_some_seeds(check: Check) -> None:
    # phaser solves 5 of 10 rollouts of the second task in even streams, 6 in odd ones.
    text = (
        "55 <!-- phaser: runs/one@0-0 phaser asr -->, 57.5 <!-- phaser: runs/one@1-2 phaser asr -->"
    )
    assert check(f"{text}, 3 <!-- phaser: runs/two@1-3 phaser minus er seeds -->\n")[0] == 0
    code, _, error = check("1 <!-- phaser: runs/one@7-9 er asr -->\n")
    assert (code, "runs/one holds no finished run of seeds 7-9" in error) == (2, True)


def test_a_difference_at_one_of_several_budgets_is_corrected_for_their_number(check: Check) -> None:
    # Both sizes have p = .03125, so Holm doubles it.
    text = (
        "p = .031 <!-- phaser: runs/two phaser minus er p at 5 -->, corrected .0625 "
        "<!-- phaser: runs/two phaser minus er holm at 5 -->, ±2.9 "
        "<!-- phaser: runs/two phaser minus er asr-half -->\n"
    )
    assert check(text)[:2] == (0, "3 numbers recomputed, 0 of them differ\n")


def test_a_lead_of_an_arm_is_split_by_tasks_and_phases(place: Path, check: Check) -> None:
    for seed in range(6):
        for method in ("er", "phaser"):
            run = place / "runs" / "one" / f"{method}-b20-s{seed}"
            shutil.copytree(run, place / "arms" / method / f"s{seed}")
    pair = "arms/phaser minus arms/er"
    text = (
        f"first half +20.0 <!-- phaser: {pair} solved-early --> "
        f"and second half +5.0 "
        f"<!-- phaser: {pair} solved-late --> [−0.7 <!-- phaser: {pair} solved-late-lower -->\n"
    )
    assert check(text)[:2] == (0, "3 numbers recomputed, 0 of them differ\n")
    code, _, error = check(f"0 <!-- phaser: {pair} solved-without-brief -->\n")
    assert code == 2
    assert "no common stream of phaser and er has such a task or phase" in error


def test_a_method_at_several_budgets_needs_one(check: Check) -> None:
    code, _, error = check("45 <!-- phaser: runs/two er asr -->")
    assert code == 2
    assert error == "phaser: page.md:1: runs/two has budgets 5, 20; add 'at' and one of them\n"
    assert check("45 <!-- phaser: runs/two er asr at 20 -->")[0] == 0


def test_comments_inside_code_are_examples(check: Check) -> None:
    text = (
        "```\n1 <!-- phaser: runs/one er asr -->\n```\n"
        "Write `2 <!-- phaser: runs/one er asr -->`; 45.0 <!-- phaser: runs/one er asr -->\n"
    )
    assert check(text)[:2] == (0, "1 number recomputed, 0 of them differ\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no number at all", "holds no number that names its runs"),
        ("many <!-- phaser: runs/one er asr -->", "page.md:1: no number before"),
        ("1 <!-- phaser: runs/one er -->", "expected RUNS METHOD [minus METHOD] QUANTITY"),
        ("1 <!-- phaser: runs/one er asn -->", "unknown quantity 'asn'; did you mean asr"),
        ("1 <!-- phaser: runs/one erx asr -->", "unknown method in runs/one 'erx'"),
        ("1 <!-- phaser: runs/none er asr -->", "runs/none holds no finished run"),
        ("1 <!-- phaser: runs/one er minus phaser p -->", "does not compare er with phaser"),
        ("1 <!-- phaser: runs/one er asr at 50 -->", "has budgets 20; add 'at'"),
    ],
)
def test_what_cannot_be_recomputed_is_one_line(check: Check, text: str, expected: str) -> None:
    code, out, error = check(text)
    assert (code, out) == (2, "")
    assert error.count("\n") == 1
    assert expected in error


def test_checked_numbers_come_as_json_too(check: Check) -> None:
    code, out, _ = check("44 <!-- phaser: runs/one er asr -->", "--json")
    (number,) = json.loads(out)["numbers"]
    assert code == 1
    assert (number["written"], number["recomputed"], number["agrees"]) == ("44", "45", False)


def test_update_writes_what_the_runs_say_in_the_form_of_what_stood_there(check: Check) -> None:
    text = (
        "`er 1.0 <!-- phaser: no -->` keeps **44** % <!-- phaser: runs/one er asr -->, phaser 57.50"
        " <!-- phaser: runs/one phaser asr -->:\r\n−3.0 <!-- phaser: runs/one phaser minus er asr "
        "-->, p = .51 <!-- phaser: runs/one phaser minus er p -->.\n"
    )
    code, out, _ = check(text, "--update")
    assert code == 0
    assert out.endswith("4 numbers recomputed, 3 of them differ\n3 numbers written\n")
    updated = Path("page.md").read_bytes().decode()
    expected = text.replace("**44**", "**45**").replace("−3.0", "+12.5").replace(".51", ".03")
    assert updated == expected
    assert alike("+2.0", "-1.5") == "−1.5"
    assert alike("-2.0", "-1.5") == "-1.5"
    assert main.execute(["report", "--check", "page.md"]) == 0


def test_what_a_report_wrote_is_not_updated(
    check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.execute(["report", "runs/one", "--json"]) == 0
    Path("saved.json").write_text(capsys.readouterr().out)
    before = Path("saved.json").read_bytes()
    assert main.execute(["report", "--check", "saved.json", "--update"]) == 2
    assert "make it anew with phaser report" in capsys.readouterr().err
    assert Path("saved.json").read_bytes() == before
    beside = "44 <!-- phaser: runs/one er asr -->\n"
    Path("beside.md").write_text(beside)
    assert main.execute(["report", "--check", "beside.md", "saved.json", "--update"]) == 2
    assert Path("beside.md").read_text() == beside, "nothing is written if anything is refused"
    capsys.readouterr()
    assert main.execute(["report", "runs/one", "--update"]) == 2
    assert "--update goes with --check" in capsys.readouterr().err


def test_documents_and_folders_are_not_mixed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main.execute(["report", str(tmp_path), "--check", "page.md"]) == 2
    assert "leave out DIR" in capsys.readouterr().err


def test_every_number_of_a_page_is_recomputed_and_a_changed_one_is_found(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    assert main.execute(["report", "runs/one", "--out", "one.html", "--json"]) == 0
    Path("one.json").write_text(capsys.readouterr().out)
    assert main.execute(["report", "--check", "one.html", "one.json"]) == 0
    count, rest = capsys.readouterr().out.split(" ", 1)
    assert int(count.replace(",", "")) > 500
    assert rest == "numbers recomputed, 0 of them differ\n"
    for name, was, now in (
        ("one.html", "<td>57.5</td>", "<td>58.5</td>"),
        ("one.html", "er: 45.0 %", "er: 46.0 %"),
        ("one.json", '"successes": 54', '"successes": 55'),
    ):
        text = Path(name).read_text()
        assert was in text
        changed = Path(f"changed-{name}")
        changed.write_text(text.replace(was, now, 1))
        assert main.execute(["report", "--check", str(changed)]) == 1
        assert "1 of them differ" in capsys.readouterr().out


def test_a_page_over_budgets_is_recomputed_and_one_without_runs_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    assert main.execute(["report", "runs/two", "--out", "two.html", "--json"]) == 0
    Path("two.json").write_text(capsys.readouterr().out)
    assert main.execute(["report", "--check", "two.html", "two.json"]) == 0
    assert "0 of them differ" in capsys.readouterr().out
    Path("other.html").write_text("<p>5</p>")
    assert main.execute(["report", "--check", "other.html"]) == 2
    assert "does not say which runs it is from" in capsys.readouterr().err
