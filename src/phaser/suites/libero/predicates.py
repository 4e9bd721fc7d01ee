"""What is true now in a LIBERO task: touched, grasped, lifted, and LIBERO's own on, in, open, …

LIBERO's goals say how a task ends; what the hand does on the way tells its sub-skills apart. The
answers to on, in, open, close and turnon are LIBERO's own, from the same data, but contacts are
compared by the numbers of geoms, once for all questions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Atom = tuple[str, ...]
"""A verb and what it is about, such as ("on", "akita_black_bowl_1", "plate_1")."""
Pairs = Collection[tuple[int, int]]
"""Two sets of geoms, as bits, for every kind of contact there is now."""
Check = Callable[[Any, Pairs], bool]
"""Answers from MuJoCo's data and the contacts."""

_ORDER = {"open": 0, "turnon": 1, "on": 2, "in": 2}
_JOINT_VERBS = {"open": ("is_open", any), "close": ("is_close", all)}
_JOINT_VERBS |= {"turnon": ("turn_on", any), "turnoff": ("turn_off", all)}
_NEAR = 0.03
"""How far, in metres, LIBERO lets an object's centre be from that of the object it stands on."""


class Truth:
    """The questions of the task that a LIBERO domain holds now, in the order they come true."""

    names: tuple[str, ...]

    def __init__(self, domain: Any) -> None:
        self._domain = domain
        sites = domain.object_sites_dict
        atoms = atoms_of(
            domain.parsed_problem, moving={name for name in sites if sites[name].joints}
        )
        self.names = tuple(" ".join(atom) for atom in atoms)
        geoms = _GeomSets(domain)
        checks = {
            "touched": _touched,
            "grasped": _grasped,
            "lifted": _lifted,
            "on": _on,
            "in": _in,
        }
        self._checks = [checks.get(atom[0], _joint)(domain, geoms, atom) for atom in atoms]
        self._bits = geoms.bits()

    def now(self) -> tuple[bool, ...]:
        """One answer for every name, from the simulator's present data."""
        data, bits = self._domain.sim.data._data, self._bits
        pairs = {(bits[one], bits[other]) for one, other in data.contact.geom.tolist()}
        return tuple(bool(check(data, pairs)) for check in self._checks)


def atoms_of(problem: Mapping[str, Any], *, moving: Collection[str]) -> tuple[Atom, ...]:
    """What to ask about a task, in the order it comes true in a demonstration.

    LIBERO's goal in the order that physics asks for (what is opened comes first, what is closed
    last), and before each of its atoms what the hand has to do for it. What the task begins with
    is not asked. `moving` are the regions that a joint moves: drawers.
    """
    begins = {tuple(atom) for atom in problem["initial_state"]}
    goal = [tuple(atom) for atom in problem["goal_state"] if tuple(atom) not in begins]
    pushed = "push" in problem["language_instruction"]
    atoms: list[Atom] = []
    for verb, thing, *place in sorted(goal, key=lambda atom: _ORDER.get(atom[0], 3)):
        if not place:
            atoms += [("touched", thing), (verb, thing)]
            continue
        region = place[0]
        if region in moving and ("open", region) not in begins:
            atoms += [("touched", region), ("open", region)]
        held = ("touched",) if pushed else ("grasped", "lifted")
        atoms += [*((one, thing) for one in held), (verb, thing, region)]
    return tuple(dict.fromkeys(atoms))


class _GeomSets:
    """Sets of geoms by bits, so that one look at the contacts answers all questions."""

    def __init__(self, domain: Any) -> None:
        self._domain = domain
        self._model = domain.sim.model._model
        self._sets: dict[frozenset[int], int] = {}
        gripper = domain.robots[0].gripper
        self.hand = self._bit(self._ids(gripper.contact_geoms))
        pads = gripper.important_geoms
        self.pads = tuple(self._bit(self._ids(pads[f"{side}_fingerpad"])) for side in _SIDES)

    def thing(self, name: str) -> int:
        """An object or a fixture, as robosuite compares contacts with it."""
        return self._bit(self._ids(self._domain.get_object(name).contact_geoms))

    def part(self, joints: Iterable[str]) -> int:
        """What these joints move: a drawer, a door, a knob."""
        model = self._model
        roots = {int(model.jnt_bodyid[model.joint(name).id]) for name in joints}
        moved = {body for body in range(model.nbody) if self._above(body) & roots}
        return self._bit(g for g in range(model.ngeom) if int(model.geom_bodyid[g]) in moved)

    def bits(self) -> list[int]:
        """For every geom the sets that it belongs to."""
        found = [0] * self._model.ngeom
        for geoms, bit in self._sets.items():
            for geom in geoms:
                found[geom] |= bit
        return found

    def _bit(self, geoms: Iterable[int]) -> int:
        return self._sets.setdefault(frozenset(geoms), 1 << len(self._sets))

    def _ids(self, names: Sequence[str]) -> list[int]:
        return [self._model.geom(name).id for name in names]

    def _above(self, body: int) -> set[int]:
        found = {body}
        while body != 0:
            body = int(self._model.body_parentid[body])
            found.add(body)
        return found


_SIDES = ("left", "right")


def _meet(pairs: Pairs, one: int, other: int) -> bool:
    return any((a & one and b & other) or (a & other and b & one) for a, b in pairs)


def _touched(domain: Any, geoms: _GeomSets, atom: Atom) -> Check:
    """The hand meets an object, or what moves of a fixture."""
    name = atom[1]
    thing = geoms.thing(name) if name in domain.objects_dict else geoms.part(_joints(domain, name))
    return lambda data, pairs: _meet(pairs, geoms.hand, thing)


def _grasped(domain: Any, geoms: _GeomSets, atom: Atom) -> Check:
    """Both finger pads meet it, which is robosuite's rule."""
    thing = geoms.thing(atom[1])
    return lambda data, pairs: all(_meet(pairs, pad, thing) for pad in geoms.pads)


def _lifted(domain: Any, geoms: _GeomSets, atom: Atom) -> Check:
    """Grasped, and meeting nothing but the hand."""
    grasped, thing = _grasped(domain, geoms, atom), geoms.thing(atom[1])
    own = thing | geoms.hand

    def check(data: Any, pairs: Pairs) -> bool:
        held_elsewhere = any(
            (a & thing and not b & own) or (b & thing and not a & own) for a, b in pairs
        )
        return not held_elsewhere and grasped(data, pairs)

    return check


def _in(domain: Any, geoms: _GeomSets, atom: Atom) -> Check:
    _, thing, place = atom
    body = domain.obj_body_id[thing]
    if place not in domain.object_sites_dict:
        container, there = domain.get_object(place), domain.obj_body_id[place]
        both = geoms.thing(thing), geoms.thing(place)
        return lambda data, pairs: (
            _meet(pairs, *both) and container.in_box(data.xpos[there], data.xpos[body])
        )
    region, site = domain.object_sites_dict[place], domain.sim.model.site_name2id(place)
    return lambda data, pairs: region.in_box(
        data.site_xpos[site], data.site_xmat[site].reshape(3, 3), data.xpos[body]
    )


def _on(domain: Any, geoms: _GeomSets, atom: Atom) -> Check:
    _, thing, place = atom
    body = domain.obj_body_id[thing]
    if place not in domain.object_sites_dict:
        return _on_object(domain, geoms, atom)
    region, site = domain.object_sites_dict[place], domain.sim.model.site_name2id(place)
    parent = domain.object_states_dict[place].parent_name
    both = (geoms.thing(thing), geoms.thing(parent)) if domain.get_object(parent) else None

    def check(data: Any, pairs: Pairs) -> bool:
        if both and not _meet(pairs, *both):
            return False
        matrix = data.site_xmat[site].reshape(3, 3)
        return bool(region.under(data.site_xpos[site], matrix, data.xpos[body]))

    return check


def _on_object(domain: Any, geoms: _GeomSets, atom: Atom) -> Check:
    upper, lower = domain.obj_body_id[atom[1]], domain.obj_body_id[atom[2]]
    both = geoms.thing(atom[1]), geoms.thing(atom[2])

    def check(data: Any, pairs: Pairs) -> bool:
        above, below = data.xpos[upper], data.xpos[lower]
        near = np.linalg.norm(below[:2] - above[:2]) < _NEAR
        return bool(below[2] <= above[2] and near and _meet(pairs, *both))

    return check


def _joint(domain: Any, geoms: _GeomSets, atom: Atom) -> Check:
    """Open, close, turnon and turnoff: asked of the fixture for each of its joints."""
    name, whole = atom[1], domain.sim.model
    owner = domain.object_states_dict[name].parent_name if _is_region(domain, name) else name
    method, combine = _JOINT_VERBS[atom[0]]
    ask = getattr(domain.get_object(owner), method)
    places = [whole.get_joint_qpos_addr(joint) for joint in _joints(domain, name)]
    return lambda data, pairs: combine(ask(data.qpos[place]) for place in places)


def _is_region(domain: Any, name: str) -> bool:
    return name in domain.object_sites_dict


def _joints(domain: Any, name: str) -> Sequence[str]:
    owner = domain.object_sites_dict[name] if _is_region(domain, name) else domain.get_object(name)
    return owner.joints
