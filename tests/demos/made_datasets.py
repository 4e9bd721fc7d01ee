"""Datasets as others write them: videos with painted frame numbers, LeRobot v2.x and v3, HDF5."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import av
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from phaser.demos import png

SIDE, BITS = 64, 16
CAMERA = "observation.images.front"
INSTRUCTIONS = ("pull the drawer open", "push the drawer shut")


def painted(number: int) -> np.ndarray:
    """A frame that shows its number: sixteen black or white squares of 16 x 16 pixels."""
    bits = (number >> np.arange(BITS)) & 1
    squares = (bits * 255).astype(np.uint8).reshape(4, 4)
    return np.repeat(np.kron(squares, np.ones((16, 16), np.uint8))[..., None], 3, axis=2)


def number_in(pixels: np.ndarray) -> int:
    """Read back the number; compression may blur the squares' edges, not their middles."""
    middles = pixels[8::16, 8::16].mean(axis=2).ravel() > 127
    return int((middles << np.arange(BITS)).sum())


def write_video(
    path: Path, numbers: Sequence[int], *, fps: int = 20, codec: str = "libx264", **options: str
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream(codec, rate=fps, options=options)
        stream.width = stream.height = SIDE
        stream.pix_fmt = "yuv420p"
        for number in numbers:
            frame = av.VideoFrame.from_ndarray(painted(number), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def vectors(seed: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    both = draw.normal(size=(2, length, 4)).astype(np.float32)
    return both[0], both[1]


def features(*, video: bool) -> dict[str, object]:
    found: dict[str, object] = {
        CAMERA: {
            "dtype": "video" if video else "image",
            # Channels first, as in datasets that were converted from torch.
            "shape": [3, SIDE, SIDE],
            "names": ["channels", "height", "width"],
        },
        "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    }
    for name in ("observation.state", "action"):
        motors = {"motors": ["x", "y", "z", "gripper"]}
        found[name] = {"dtype": "float32", "shape": [4], "names": motors}
    for name in ("frame_index", "episode_index", "index", "task_index"):
        found[name] = {"dtype": "int64", "shape": [1], "names": None}
    return found


def episode_table(index: int, length: int, first: int, *, video: bool, fps: int) -> pa.Table:
    actions, states = vectors(index, length)
    frames = np.arange(length)
    columns = {
        "observation.state": pa.array(list(states), pa.list_(pa.float32())),
        "action": pa.array(list(actions), pa.list_(pa.float32())),
        "timestamp": pa.array((frames / fps).astype(np.float32)),
        "frame_index": frames,
        "episode_index": np.full(length, index),
        "index": frames + first,
        "task_index": np.full(length, index % 2),
    }
    if not video:
        contents = [{"bytes": png.encode(painted(first + k)), "path": None} for k in frames]
        columns[CAMERA] = pa.array(
            contents, pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        )
    return pa.table(columns)


def write_v2(
    root: Path, lengths: Sequence[int], *, version: str, video: bool, fps: int = 20
) -> None:
    """One parquet and one mp4 per episode, as LeRobot v2.0 and v2.1 publish them."""
    meta = root / "meta"
    meta.mkdir(parents=True)
    first, episodes = 0, []
    for index, length in enumerate(lengths):
        stem = f"episode_{index:06d}"
        data = root / f"data/chunk-{index // 2:03d}/{stem}.parquet"
        data.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(episode_table(index, length, first, video=video, fps=fps), data)
        if video:
            path = root / f"videos/chunk-{index // 2:03d}/{CAMERA}/{stem}.mp4"
            write_video(path, range(first, first + length), fps=fps, g="10", bf="2")
        tasks = [INSTRUCTIONS[index % 2]]
        episodes.append({"episode_index": index, "tasks": tasks, "length": length})
        first += length
    tasks = [{"task_index": k, "task": task} for k, task in enumerate(INSTRUCTIONS)]
    for name, rows in {"episodes": episodes, "tasks": tasks}.items():
        (meta / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if version == "v2.0":
        (meta / "stats.json").write_text("{}")
    else:
        (meta / "episodes_stats.jsonl").write_text("")
    info = {
        "codebase_version": version,
        "robot_type": "sawyer",
        "total_episodes": len(lengths),
        "total_frames": first,
        "chunks_size": 2,
        "fps": fps,
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/"
        "episode_{episode_index:06d}.mp4",
        "features": features(video=video),
    }
    (meta / "info.json").write_text(json.dumps(info))


def write_v3(root: Path, lengths: Sequence[int], *, fps: int = 20, **options: str) -> None:
    """All episodes in one parquet and one video, their descriptions in two tables."""
    first, tables, rows = 0, [], []
    for index, length in enumerate(lengths):
        tables.append(episode_table(index, length, first, video=True, fps=fps))
        rows.append(
            {
                "episode_index": index,
                "tasks": [INSTRUCTIONS[index % 2]],
                "length": length,
                "dataset_from_index": first,
                "dataset_to_index": first + length,
                "data/chunk_index": 0,
                "data/file_index": 0,
                f"videos/{CAMERA}/chunk_index": 0,
                f"videos/{CAMERA}/file_index": 0,
                f"videos/{CAMERA}/from_timestamp": first / fps,
                f"videos/{CAMERA}/to_timestamp": (first + length) / fps,
            }
        )
        first += length
    for folder in ("meta/episodes/chunk-000", "data/chunk-000"):
        (root / folder).mkdir(parents=True)
    pq.write_table(pa.concat_tables(tables), root / "data/chunk-000/file-000.parquet")
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        path = root / f"meta/episodes/chunk-000/file-{number:03d}.parquet"
        pq.write_table(pa.Table.from_pylist(part), path)
    write_video(root / f"videos/{CAMERA}/chunk-000/file-000.mp4", range(first), fps=fps, **options)
    info = {
        "codebase_version": "v3.0",
        "total_episodes": len(lengths),
        "fps": fps,
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
        "features": features(video=True),
    }
    (root / "meta/info.json").write_text(json.dumps(info))


def edit_info(root: Path, **changes: object) -> None:
    path = root / "meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def write_libero(path: Path, *, lengths: Sequence[int] = (5, 3), images: bool = True) -> None:
    """A file as LIBERO's `create_dataset` writes it; pixels count frames."""
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["problem_info"] = json.dumps({"language_instruction": "open the middle drawer"})
        data.attrs["bddl_file_name"] = "libero/bddl_files/libero_goal/open_the_middle_drawer.bddl"
        data.attrs["env_args"] = json.dumps({"env_name": "Libero_Tabletop", "env_kwargs": {}})
        data.attrs["macros_image_convention"] = "opengl"
        data.attrs["num_demos"] = len(lengths)
        for number, length in enumerate(lengths):
            draw = np.random.default_rng(number)
            demo = data.create_group(f"demo_{number}")
            demo.attrs["num_samples"] = length
            demo["actions"] = draw.uniform(-1, 1, (length, 7))
            demo["states"] = draw.normal(size=(length, 79))
            if images:
                observed = demo.create_group("obs")
                observed["ee_states"] = draw.normal(size=(length, 6))
                observed["gripper_states"] = draw.normal(size=(length, 2))
                for camera in ("agentview_rgb", "eye_in_hand_rgb"):
                    pixels = draw.integers(0, 256, (length, 8, 6, 3), dtype=np.uint8)
                    observed.create_dataset(camera, data=pixels, chunks=(1, 8, 6, 3), compression=1)
                observed["agentview_depth"] = np.zeros((length, 8, 6, 1), np.float32)


def write_robomimic(path: Path, *, environment: str = "NutAssemblySquare") -> None:
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env_args"] = json.dumps({"env_name": environment, "env_kwargs": {}})
        data.attrs["total"] = 7
        for number, length in {10: 4, 2: 3}.items():
            draw = np.random.default_rng(number)
            demo = data.create_group(f"demo_{number}")
            demo["actions"] = draw.uniform(-1, 1, (length, 7))
            observed = demo.create_group("obs")
            sizes = {"eef_pos": 3, "eef_quat": 4, "gripper_qpos": 2}
            for name, size in sizes.items():
                observed[f"robot0_{name}"] = draw.normal(size=(length, size)).astype(np.float32)
            observed["agentview_image"] = draw.integers(0, 256, (length, 4, 4, 3), dtype=np.uint8)
