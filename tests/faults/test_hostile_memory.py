"""Memories made to do harm: each is refused before anything is followed, allocated or decoded."""

import json
import os
import resource
import struct
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_memories import contents, made_memory, refs_of, rewrite_manifest

from phaser.core.errors import BrokenFile
from phaser.memory.codecs import ImageCodec
from phaser.memory.store import Store

Header = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made_memory(tmp_path / "memory", "lift")
    return tmp_path / "memory"


def read_everything(folder: Path) -> None:
    store = Store.open(folder)
    store.read(refs_of(store))


def shard_of(folder: Path) -> Path:
    (path,) = (folder / "tasks").iterdir()
    return path


def replace_shard(folder: Path, content: bytes) -> None:
    """Put another shard in place, with a manifest that vouches for it."""
    digest = sha256(content).hexdigest()
    shard_of(folder).unlink()
    name = f"000-lift-{digest[:12]}.safetensors"
    (folder / "tasks" / name).write_bytes(content)

    def vouch(fields: dict[str, Any]) -> None:
        fields["tasks"][0] |= {"shard": name, "sha256": digest, "num_bytes": len(content)}

    rewrite_manifest(folder, vouch)


def with_header(folder: Path, change: Callable[[Header], None]) -> None:
    content = shard_of(folder).read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    change(header)
    made = json.dumps(header).encode()
    replace_shard(folder, struct.pack("<Q", len(made)) + made + content[8 + length :])


def with_array(folder: Path, name: str, change: Callable[[np.ndarray], None]) -> None:
    content = bytearray(shard_of(folder).read_bytes())
    (length,) = struct.unpack_from("<Q", content)
    entry = json.loads(content[8 : 8 + length])[name]
    begin, end = (8 + length + place for place in entry["data_offsets"])
    types = {"I64": np.int64, "I32": np.int32, "U8": np.uint8, "BOOL": np.bool_}
    values = np.frombuffer(content[begin:end], types[entry["dtype"]]).copy()
    change(values.reshape(entry["shape"]))
    content[begin:end] = values.tobytes()
    replace_shard(folder, bytes(content))


@pytest.mark.parametrize(
    "name",
    [
        "../../secret-000000000000.safetensors",
        "/etc/passwd",
        "000-lift/../../x-000000000000.safetensors",
        "..",
        "",
        "000-lift-000000000000.safetensors\n",
        7,
    ],
)
def test_names_that_lead_elsewhere_are_refused(folder: Path, name: object) -> None:
    rewrite_manifest(folder, lambda fields: fields["tasks"][0].update(shard=name))
    with pytest.raises(BrokenFile, match=r"manifest\.json"):
        Store.open(folder)


def test_links_are_never_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.safetensors"
    shard = shard_of(folder)
    shard.rename(outside)
    shard.symlink_to(outside)
    with pytest.raises(BrokenFile, match="plain file"):
        read_everything(folder)
    shard.unlink()
    os.mkfifo(shard)
    with pytest.raises(BrokenFile, match="plain file"):
        read_everything(folder)
    shard.unlink()
    outside.rename(shard)
    (folder / "tasks").rename(tmp_path / "elsewhere")
    (folder / "tasks").symlink_to(tmp_path / "elsewhere")
    for writing in (False, True):
        with pytest.raises(BrokenFile, match="is a link"):
            Store.open(folder, writing=writing)
    manifest = folder / "manifest.json"
    manifest.rename(tmp_path / "manifest")
    manifest.symlink_to(tmp_path / "manifest")
    (folder / "tasks").unlink()
    with pytest.raises(BrokenFile, match="plain file"):
        Store.open(folder)


def test_leftovers_that_are_links_are_not_written_through(folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("do not touch")
    (folder / "tasks/001-x-000000000000.safetensors").symlink_to(precious)
    (folder / ".x.tmp").symlink_to(precious)
    Store.open(folder, writing=True)
    assert precious.read_text() == "do not touch"


HOSTILE_FIELDS: list[dict[str, Any]] = [
    {"num_frames": 10**12},
    {"num_bytes": -1},
    {"num_bytes": 10**30},
    {"num_frames": "12"},
    {"num_frames": True},
    {"phases": []},
    {"phases": [{"index": 0, "label": "x", "frames": 10**12}], "num_frames": 10**12},
    {"phases": [{"index": -1, "label": "x", "frames": 12}]},
    {"phases": [{"index": 0, "frames": 12}]},
    {"phases": ["x"]},
    {"source": {"a": 1}},
    {"codec": {"name": "bmp", "quality": 90}},
    {"codec": {"name": "png", "quality": 90, "more": 1}},
    {"extra": 1},
    {"name": None},
]


@pytest.mark.parametrize("change", HOSTILE_FIELDS, ids=str)
def test_fields_that_make_no_sense_are_refused(folder: Path, change: dict[str, Any]) -> None:
    rewrite_manifest(folder, lambda fields: fields["tasks"][0].update(change))
    with pytest.raises(BrokenFile):
        read_everything(folder)


@pytest.mark.parametrize(
    "text", ["", "[]", "[" * 100_000, '{"format": "phaser-memory"', "null", "\xff\xfe", "NaN"]
)
def test_text_that_is_no_manifest_is_refused(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(BrokenFile, match=r"manifest\.json"):
        Store.open(folder)


def _set(name: str, **changes: Any) -> Callable[[Header], None]:
    return lambda header: header[name].update(changes)


HOSTILE_HEADERS: dict[str, Callable[[Header], None]] = {
    "10^12 elements": _set("demo", shape=[10**12]),
    "overflow": _set("demo", shape=[2**32, 2**32]),
    "product of zero": _set("demo", shape=[0, 10**18]),
    "negative": _set("demo", shape=[-12]),
    "object type": _set("demo", dtype="O"),
    "no such type": _set("demo", dtype="F8_E4M3"),
    "out of range": _set("demo", data_offsets=[0, 10**15]),
    "overlap": _set("demo", data_offsets=[0, 48]),
    "backwards": _set("demo", data_offsets=[48, 0]),
    "fractional": _set("demo", shape=[12.0]),
    "many dimensions": _set("demo", shape=[1] * 60 + [12]),
    "not an object": lambda header: header.update(demo=[1]),
    "metadata": lambda header: header.update(__metadata__={"phaser": 1}),
    "no description": lambda header: header.update(__metadata__={}),
    "no references": lambda header: header.update(demos=header.pop("demo")),
    "no prototypes": lambda header: header.update(p=header.pop("prototype.vision")),
    "leaf of another type": lambda header: header.update({"leaf.99": header.pop("leaf.0")}),
}


@pytest.mark.parametrize("what", HOSTILE_HEADERS)
def test_headers_that_lie_are_refused(folder: Path, what: str) -> None:
    with_header(folder, HOSTILE_HEADERS[what])
    with pytest.raises(BrokenFile, match="safetensors"):
        read_everything(folder)


@pytest.mark.parametrize("length", [0, 1 << 40, (1 << 64) - 1])
def test_a_header_longer_than_its_file_is_refused(folder: Path, length: int) -> None:
    content = shard_of(folder).read_bytes()
    replace_shard(folder, struct.pack("<Q", length) + content[8:])
    with pytest.raises(BrokenFile, match="safetensors"):
        read_everything(folder)


def test_a_truncated_shard_is_refused_even_if_the_manifest_vouches_for_it(folder: Path) -> None:
    content = shard_of(folder).read_bytes()
    for length in (0, 4, 8, 100, len(content) - 1):
        replace_shard(folder, content[:length])
        with pytest.raises(BrokenFile, match="safetensors"):
            read_everything(folder)


def _described(change: Callable[[dict[str, Any]], None]) -> Callable[[Header], None]:
    def apply(header: Header) -> None:
        described = json.loads(header["__metadata__"]["phaser"])
        change(described)
        header["__metadata__"]["phaser"] = json.dumps(described)

    return apply


def _nested(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {"leaf": 0}
    for _ in range(depth):
        node = {"list": [node]}
    return node


HOSTILE_DESCRIPTIONS: dict[str, Callable[[dict[str, Any]], None]] = {
    "deep": lambda found: found.update(structure=_nested(200)),
    "a leaf twice": lambda found: found.update(structure={"list": [{"leaf": 0}] * 13}),
    "unknown node": lambda found: found.update(structure={"set": []}),
    "unknown leaf": lambda found: found["leaves"][0].update(kind="pickle"),
    "object leaf": lambda found: found["leaves"][0].update(dtype="object"),
    "text for numbers": lambda found: found["leaves"][0].update(dimensions="3"),
    "other task": lambda found: found.update(task="push"),
    "other codec": lambda found: found.update(codec={"name": "jpeg", "quality": 95}),
    "newer": lambda found: found.update(version=3),
    "layout": lambda found: found["leaves"][0]["image"].update(layout="whc"),
}


@pytest.mark.parametrize("what", HOSTILE_DESCRIPTIONS)
def test_descriptions_that_make_no_sense_are_refused(folder: Path, what: str) -> None:
    with_header(folder, _described(HOSTILE_DESCRIPTIONS[what]))
    with pytest.raises(BrokenFile, match="safetensors"):
        read_everything(folder)


HOSTILE_ARRAYS: dict[str, tuple[str, Callable[[np.ndarray], None]]] = {
    "offsets beyond the file": ("leaf.0.offsets", lambda values: values.__setitem__(1, 1 << 60)),
    "offsets that fall": ("leaf.0.offsets", lambda values: values.__setitem__(2, 0)),
    "negative offsets": ("leaf.0.offsets", lambda values: values.__setitem__(0, -5)),
    "a huge image": ("leaf.0.shapes", lambda values: values.__setitem__((0, 0), 1 << 40)),
    "a huge array": ("leaf.9.shapes", lambda values: values.__setitem__(0, 1 << 40)),
    "a negative array": ("leaf.9.shapes", lambda values: values.__setitem__(0, -1)),
    "raw for coded": ("leaf.0.coded", lambda values: values.__setitem__(0, False)),
    "a frame twice": ("frame", lambda values: values.__setitem__(slice(None), 0)),
    "another phase": ("phase", lambda values: values.__setitem__(0, 2)),
}


@pytest.mark.parametrize("what", HOSTILE_ARRAYS)
def test_numbers_that_lead_outside_are_refused_where_they_are_used(folder: Path, what: str) -> None:
    name, change = HOSTILE_ARRAYS[what]
    with_array(folder, name, change)
    with pytest.raises(BrokenFile, match="safetensors"):
        read_everything(folder)


def bomb(side: int) -> bytes:
    """A PNG of a few kilobytes that claims side x side pixels, all of them truly there."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    packer = zlib.compressobj(9)
    row = bytes(1 + 3 * side)
    packed = b"".join(packer.compress(row) for _ in range(200)) + packer.flush()
    start = b"\x89PNG\r\n\x1a\n"
    return start + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def test_a_decompression_bomb_is_refused_by_its_header() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    content = bomb(30_000)
    for shape in ((16, 16, 3), (30_000, 30_000, 3)):
        with pytest.raises(BrokenFile, match="30000 x 30000"):
            ImageCodec.parse("png").decode(content, shape, "frame 0")
    grown_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kilobytes < 200_000


@pytest.mark.parametrize("codec", ["png", "jpeg:90", "webp:90"])
def test_only_the_named_codec_decodes(codec: str) -> None:
    pixels = np.zeros((16, 16, 3), np.uint8)
    content = ImageCodec.parse(codec).encode(pixels)
    for other in {"png", "jpeg:90", "webp:90"} - {codec}:
        with pytest.raises(BrokenFile, match="is not a"):
            ImageCodec.parse(other).decode(content, (16, 16, 3), "frame 0")


def test_nothing_in_these_tests_was_repaired_in_passing(folder: Path) -> None:
    before = contents(folder)
    read_everything(folder)
    assert contents(folder) == before
