"""The documentation names methods, verbs, settings, columns and files that exist."""

import re
import runpy
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import pytest

from phaser import __version__
from phaser.cli.main import VERBS
from phaser.cli.settings import settings_help
from phaser.evaluation.matrix import EPISODES_SCHEMA
from phaser.evaluation.phase_losses import LOSSES_SCHEMA
from phaser.experiments.presets import PRESETS, preset
from phaser.experiments.tables import POLICIES
from phaser.methods.table import METHODS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]+\]\(([^)#]*)(?:#([^)]+))?\)")
RULE_SETTING = re.compile(r"`((?:keep|draw|rehearse|penalty)\.[a-z-]+)`")
SETTING = re.compile(r"`((?:method|encoders|fit|policy|storage|suite|evaluation)\.[a-z.-]+)`")
# Ours have no underscore and are followed by a space; LeRobot's are written --policy.type=act.
FLAG = re.compile(
    r"--((?:method|budget|encoders|fit|policy|storage|suite|evaluation)\.[a-z.-]+)(?![a-z_.=-])"
)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in headings}


def first_column(text: str, heading: str) -> list[str]:
    """What stands in backticks at the start of each row of the table under a heading."""
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)


@cache
def known_flags() -> set[str]:
    """Flags of all settings of the shipped suites and policies."""
    runs = [preset(name) for name in ("metaworld-10", "libero-goal", "datasets")]
    runs += [replace(runs[0], policy=POLICIES[name]()) for name in POLICIES]
    shown = (settings_help(run, verb="run") for run in runs)
    return {flag for text in shown for flag in re.findall(r"--([a-z][a-z.-]+)", text)}


def fidelity() -> str:
    """All pages that compare the code with the paper."""
    return "".join(page.read_text() for page in sorted((ROOT / "docs").glob("fidelity*.md")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_has_more_than_2500_words(page: Path) -> None:
    words = [one for one in page.read_text().split() if re.search(r"\w", one)]
    assert len(words) <= 2500


def test_the_readme_stays_short_and_has_few_numbers() -> None:
    text = (ROOT / "README.md").read_text()
    assert len([one for one in text.split() if re.search(r"\w", one)]) <= 900
    assert len(re.findall(r"\d+(?:[.,]\d+)*", text)) <= 40


def test_the_citation_names_this_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_navigation_has_every_page_once() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1].split("\nmarkdown_extensions")[0]
    listed = re.findall(r"([\w/-]+\.md)$", nav, re.MULTILINE)
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        if target.startswith("http"):
            continue
        other = (page.parent / target).resolve() if target else page
        assert other.exists(), target
        assert not anchor or anchor in anchors(other), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_that_a_page_names_is_a_flag(page: Path) -> None:
    known, text = known_flags(), page.read_text()
    # A page may name a group of settings by its branch.
    branches = {flag[:at] for flag in known for at, sign in enumerate(flag) if sign == "."}
    assert set(SETTING.findall(text) + FLAG.findall(text)) <= known | branches


def test_every_setting_of_a_rule_that_a_page_names_is_a_field_of_one() -> None:
    known = {
        f"{part}.{field.name.replace('_', '-')}"
        for method in METHODS.values()
        for part in ("keep", "draw", "rehearse", "penalty")
        for field in fields(getattr(method, part))
    }
    named = {one for page in PAGES for one in RULE_SETTING.findall(page.read_text())}
    assert len(named) > 5
    assert named <= known


def test_every_test_that_fidelity_names_exists() -> None:
    named = re.findall(r"`(test_\w+)`", fidelity())
    written = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 8
    assert [name for name in named if f"def {name}(" not in written] == []


# What a stranger looks for, and a line that its file must have.
ONE_HOP = {
    "the interference priority U": ("routing/priority.py", "def priority("),
    "Boltzmann weights": ("routing/boltzmann.py", "def boltzmann("),
    "the boundary score b(t)": ("phases/signals.py", "b(t)"),
    "(allocation)": ("memory/allocation.py", "def allocate("),
    "certificate": ("memory/certificate.py", "def certificate("),
    "NBT": ("evaluation/metrics.py", "NBT"),
    "MIR": ("routing/max_interference.py", "class MaxInterference"),
    "the prompt": ("phases/templates/verify_user.txt", "the sub-skills"),
    "resuming": ("experiments/resume.py", "class Checkpoints"),
    "the LIBERO protocol": ("suites/libero/protocol.py", "PROTOCOLS"),
}


@pytest.mark.parametrize("what", ONE_HOP)
def test_a_stranger_finds_it_in_one_hop(what: str) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.split("## Find it in one hop\n")[1].split("\n## ")[0]
    (row,) = [line for line in section.splitlines() if what in line]
    file, line = ONE_HOP[what]
    assert f"`src/phaser/{file}`" in row
    assert line in (ROOT / "src" / "phaser" / file).read_text()


def test_every_source_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`((?:src/phaser/)?[a-z]\w*/[\w/]+\.py)`", text))
    assert len(named) > 20
    places = (ROOT / "src" / "phaser", ROOT)
    assert [one for one in named if not any((place / one).exists() for place in places)] == []


def test_the_folder_tree_of_the_architecture_page_is_the_source() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    tree = text.split("```\nsrc/phaser/\n")[1].split("```")[0]
    named = re.findall(r"^  ([a-z]+)/ +\S", tree, re.MULTILINE)
    found = [path.parent.name for path in (ROOT / "src" / "phaser").glob("*/__init__.py")]
    assert sorted(named) == sorted(found)


def test_one_version_of_python_is_asked_for_everywhere() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    (version,) = re.findall(r'requires-python = ">=([\d.]+)"', project)
    major, minor = version.split(".")
    makefile = (ROOT / "Makefile").read_text()
    assert f"python{version}" in makefile
    assert f"sys.version_info < ({major}, {minor})" in makefile
    assert f"expected {version} or newer" in makefile
    for page in ("README.md", "docs/tutorial.md"):
        assert f"Python {version} or newer" in (ROOT / page).read_text()
    assert f'target-version = "py{major}{minor}"' in project
    assert f'python_version = "{version}"' in project
    assert f"Python {version}" in (ROOT / "constraints.txt").read_text()


def test_the_pages_say_which_distribution_to_install() -> None:
    for page in ("README.md", "docs/index.md", "docs/tutorial.md"):
        text = (ROOT / page).read_text()
        assert "phaser-vla" in text
        assert "`pip install phaser`" in text


def test_fidelity_names_settings_at_all() -> None:
    assert len(set(SETTING.findall(fidelity()))) > 15


def test_the_table_of_methods_is_complete() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert first_column(text, "Keep × Draw × Rehearse × Penalty") == [*METHODS]


def test_the_page_of_commands_names_every_verb_and_the_readme_leads_there() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    assert {verb for verb in VERBS if f"`phaser {verb}" in text} == set(VERBS)
    readme = (ROOT / "README.md").read_text()
    assert "docs/commands.md" in readme
    assert "make test" in readme


def test_every_column_and_file_of_a_run_folder_is_explained() -> None:
    section = (ROOT / "docs" / "run-folder.md").read_text()
    columns = {*EPISODES_SCHEMA.names, *LOSSES_SCHEMA.names}
    assert {name for name in columns if f"`{name}`" in section} == columns


def test_presets_named_on_a_command_line_exist() -> None:
    for page in PAGES:
        named = re.findall(r"phaser (?:run|grid|record) ([a-z][\w-]+)", page.read_text())
        assert set(named) <= set(PRESETS), page.name


def test_the_rule_in_the_architecture_page_passes_its_check(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    snippet = tmp_path / "last_frames.py"
    snippet.write_text(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0])
    assert "LastFrames" in runpy.run_path(str(snippet))
