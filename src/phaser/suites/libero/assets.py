"""Find the folder with LIBERO's meshes and textures, and check that a suite has all it draws.

Nothing is downloaded here: hf-libero would fetch missing assets while a simulator is built, and go
on with a path that does not exist when it cannot. `phaser libero fetch` brings them, when asked.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from phaser.core.errors import BadInput, BrokenFile, MissingDependency
from phaser.core.folders import cache_folder
from phaser.suites.libero.tasks import suite_named

VARIABLE = "PHASER_LIBERO_ASSETS"
SUBFOLDERS = {"libero-goal": "goal_assets", "libero-10": "long_assets"}
"""A folder that a user names may hold one folder of assets per suite, by these names."""
FETCH = "phaser libero fetch"
INSTALL = "pip install --no-deps hf-libero==0.1.4 robosuite==1.4.0 bddl==1.0.1"
# LIBERO exchanges the files of these two textures by the style of the scene.
STYLED = {"texplane", "tex-wall"}

_HOPE, _SCANNED, _TURBO, _ARTICULATED = (
    "stable_hope_objects/{0}/{0}.xml",
    "stable_scanned_objects/{0}/{0}.xml",
    "turbosquid_objects/{0}/{0}.xml",
    "articulated_objects/{0}.xml",
)
_SCENE = "scenes/libero_{0}_base_style.xml"
_TEXTURE = "textures/{0}.png"
_GRAY = ("light-gray-floor-tile", "light-gray-plaster")
_BASKET_FOODS = ("alphabet_soup", "butter", "cream_cheese", "ketchup", "milk", "orange_juice")
# What the ten task files of a suite name, by the pattern of its path.
NEEDED: dict[str, dict[str, tuple[str, ...]]] = {
    "libero-goal": {
        _SCENE: ("tabletop",),
        _TEXTURE: _GRAY,
        _ARTICULATED: ("flat_stove", "wooden_cabinet"),
        _HOPE: ("cream_cheese",),
        _SCANNED: ("akita_black_bowl", "plate"),
        _TURBO: ("wine_bottle", "wine_rack"),
    },
    "libero-10": {
        _SCENE: ("kitchen_tabletop", "living_room_tabletop", "study"),
        _TEXTURE: (
            *_GRAY,
            "gray_ceramic_tile",
            "yellow_linen_wall_texture",
            "seamless_wood_planks_floor",
        ),
        _ARTICULATED: ("flat_stove", "microwave", "white_cabinet"),
        _HOPE: (*_BASKET_FOODS, "chocolate_pudding", "tomato_sauce"),
        _SCANNED: ("akita_black_bowl", "basket", "chefmate_8_frypan", "plate"),
        _TURBO: (
            "black_book",
            "desk_caddy",
            "moka_pot",
            "porcelain_mug",
            "red_coffee_mug",
            "white_yellow_mug",
            "wine_bottle",
            "wine_rack",
        ),
    },
    "libero-spatial": {
        _SCENE: ("tabletop",),
        _TEXTURE: _GRAY,
        _ARTICULATED: ("flat_stove", "wooden_cabinet"),
        _HOPE: ("cookies",),
        _SCANNED: ("akita_black_bowl", "glazed_rim_porcelain_ramekin", "plate"),
    },
    "libero-object": {
        _SCENE: ("floor",),
        _TEXTURE: _GRAY,
        _HOPE: (
            *_BASKET_FOODS,
            "bbq_sauce",
            "chocolate_pudding",
            "salad_dressing",
            "tomato_sauce",
        ),
        _SCANNED: ("basket",),
    },
}


def assets_folder(suite: str) -> Path:
    """The first folder that holds all files of a suite."""
    suite = suite_named(suite)
    lacking: dict[Path, tuple[str, ...]] = {}
    for folder in candidates(suite):
        missing = missing_files(folder, suite)
        if not missing:
            return folder.resolve()
        lacking[folder] = missing
    # The folder that comes nearest is most likely the one that was meant.
    nearest = min(lacking, key=lambda folder: len(lacking[folder]))
    raise MissingDependency(
        f"{suite} lacks {first_of(lacking[nearest])} in {nearest}; run: {FETCH} --suites {suite}, "
        f"or set {VARIABLE} to a folder that has them"
    )


def candidates(suite: str) -> Iterator[Path]:
    """Folders to look in: first the user's own, then the cache, then that of hf-libero."""
    named = os.environ.get(VARIABLE)
    if named:
        root = Path(named)
        if not root.is_dir():
            raise BadInput(f"{VARIABLE} names {root}, which is no folder; correct or unset it")
        own = root / SUBFOLDERS.get(suite, ".")
        # A folder of assets itself, unless it holds one folder per suite.
        yield own if own.is_dir() else root
    yield fetched_assets()
    yield package_folder() / "assets"


def fetched_assets() -> Path:
    """The folder in the cache that `phaser libero fetch` fills."""
    return cache_folder() / "libero" / "assets"


def folders_of(suite: str) -> tuple[str, ...]:
    """Folders below the assets that hold all files of a suite, each with a slash at its end.

    Objects have a folder each; scenes and articulated objects share meshes and textures.
    """
    objects = {
        f"{pattern.format(name).rpartition('/')[0]}/"
        for pattern in (_HOPE, _SCANNED, _TURBO)
        for name in NEEDED[suite].get(pattern, ())
    }
    return ("articulated_objects/", "scenes/", "textures/", *sorted(objects))


def first_of(missing: Sequence[str]) -> str:
    """The first of some missing files, and how many more there are."""
    return f"{missing[0]} and {len(missing) - 1} more" if len(missing) > 1 else missing[0]


def package_folder() -> Path:
    """The folder `libero/libero` of hf-libero, without importing it."""
    spec = importlib.util.find_spec("libero")
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependency(f"hf-libero is not installed; run: {INSTALL}")
    return Path(next(iter(spec.submodule_search_locations))) / "libero"


def missing_files(folder: Path, suite: str) -> tuple[str, ...]:
    """Files of a suite that a folder lacks: descriptions, and the meshes and textures they use."""
    missing = []
    for pattern, names in NEEDED[suite].items():
        for name in names:
            path = folder / pattern.format(name)
            if not path.is_file():
                missing.append(path)
            elif path.suffix == ".xml":
                missing += [used for used in _used_files(path) if not used.is_file()]
    return tuple(os.path.relpath(path, folder) for path in missing)


def _used_files(path: Path) -> Iterator[Path]:
    """Meshes and textures that a description draws; what it only declares may be absent."""
    try:
        tree = ElementTree.parse(path)
    except ElementTree.ParseError as error:
        raise BrokenFile(f"{path} is no XML ({error}); run: {FETCH}") from error
    geoms = list(tree.iter("geom"))
    materials = {geom.get("material") for geom in geoms}
    used = {geom.get("mesh") for geom in geoms} | {
        material.get("texture")
        for material in tree.iter("material")
        if material.get("name") in materials
    }
    for element in tree.iter():
        file, name = element.get("file"), element.get("name")
        if file and name in used - STYLED:
            yield path.parent / file
