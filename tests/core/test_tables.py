"""Open tables: our own entries, those of installed packages, and clear words about the rest."""

from importlib.metadata import EntryPoint

import pytest

from phaser.core import tables
from phaser.core.errors import BadInput, UnknownName
from phaser.core.tables import Table
from phaser.experiments.tables import DRAWS, KEEPS, PENALTIES, REHEARSALS, SEGMENTERS, TABLES
from phaser.memory.even import Even
from phaser.memory.reservoir import Reservoir

GROUP = "phaser.rules"


@pytest.fixture
def added(monkeypatch):
    """Puts entry points where an installed package would have put them."""

    def add(**places):
        points = {
            name: EntryPoint(name=name, value=place, group=GROUP) for name, place in places.items()
        }
        monkeypatch.setattr(tables, "_added", lambda group: points if group == GROUP else {})

    return add


def keeps(**own):
    own = own or {"Even": "phaser.memory.even:Even"}
    return Table(kind="keep rule", group=GROUP, own=own, accepts=lambda one: hasattr(one, "select"))


def test_own_entries_are_found_by_name_and_by_themselves():
    table = keeps()
    assert table["Even"] is table.require("Even") is Even
    assert table.name_of(Even) == "Even"
    assert ("Even" in table, "Odd" in table, 3 in table) == (True, False, False)
    assert [*table] == ["Even"]


def test_an_installed_package_adds_entries_that_belong_into_the_table(added):
    added(Mine="phaser.memory.reservoir:Reservoir", Draws="phaser.routing.uniform:Uniform")
    table = keeps()
    assert (table["Mine"], table.name_of(Reservoir)) == (Reservoir, "Mine")
    assert [*table] == ["Even", "Mine"]
    assert len(table) == 2
    assert "Draws" not in table
    with pytest.raises(KeyError):
        table["Draws"]


def test_an_entry_of_another_package_never_replaces_our_own(added):
    added(Even="phaser.memory.reservoir:Reservoir")
    assert keeps()["Even"] is Even
    assert [*keeps()] == ["Even"]


@pytest.mark.parametrize("place", ["no_such_package:Rule", "phaser.memory.even:Odd"])
def test_a_package_that_does_not_load_is_named_when_its_entry_is_asked_for(added, place):
    added(Broken=place)
    table = keeps()
    assert table["Even"] is Even
    with pytest.raises(BadInput, match=r"offers phaser\.rules 'Broken', which does not load"):
        table["Broken"]


def test_what_is_in_no_table_answers_with_the_nearest_or_says_how_to_add_it():
    table = keeps()
    with pytest.raises(UnknownName, match="unknown keep rule 'Evne'; did you mean Even"):
        table.require("Evne")
    with pytest.raises(BadInput, match=r'entry-points\."phaser\.rules"\] Reservoir ='):
        table.name_of(Reservoir)


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.kind)
def test_every_entry_of_ours_exists_and_has_its_name(table):
    for name in table:
        assert table.name_of(table[name]) == name


RULES = {"keep": KEEPS, "draw": DRAWS, "rehearse": REHEARSALS, "penalty": PENALTIES}
RULES["segmenter"] = SEGMENTERS


def test_the_shape_of_a_rule_tells_its_kind():
    """One group of entry points feeds all of these tables."""
    for kind, table in RULES.items():
        for name in table:
            taken = {other for other, one in RULES.items() if one._accepts(table[name])}
            assert taken == {kind}, name
