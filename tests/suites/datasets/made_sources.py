"""HDF5 files as LIBERO's and robomimic's scripts write them, in the shape of made_datasets."""

import json

import h5py
import numpy as np

SIDE = 64


def write_hdf5(
    path,
    *,
    instruction="put the mug on the plate",
    bddl="put_the_mug_on_the_plate",
    lengths=(20, 23, 21, 22),
    cameras=("front",),
    side=SIDE,
    action_size=4,
    state_size=4,
    joints=None,
    convention=None,
    spoken=None,
):
    """`joints`: "before" or "after", when the arm was seen beside the simulator's states.

    `spoken`: one instruction per demonstration, as RoboCasa writes them.
    """
    path.unlink(missing_ok=True)  # a reader may have the old one open
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        if instruction:
            data.attrs["problem_info"] = json.dumps({"language_instruction": instruction})
        if bddl:
            data.attrs["bddl_file_name"] = f"bddl_files/made_up/{bddl}.bddl"
        if convention:
            data.attrs["macros_image_convention"] = convention
        for number, length in enumerate(lengths):
            draw = np.random.default_rng(number)
            demo = data.create_group(f"demo_{number}")
            if spoken:
                demo.attrs["ep_meta"] = json.dumps({"lang": spoken[number]})
            demo["actions"] = draw.uniform(-1, 1, (length, action_size))
            seen = demo.create_group("obs")
            seen["ee_states"] = draw.normal(size=(length, state_size - 1))
            seen["gripper_states"] = draw.normal(size=(length, 1))
            if joints:
                _write_joints(demo, seen, length, joints, draw)
            for camera in cameras:
                pixels = np.zeros((length, side, side, 3), np.uint8)
                # The number of the frame, and a mark that tells top from bottom and left from
                # right.
                pixels[:] = np.arange(length, dtype=np.uint8)[:, None, None, None]
                pixels[:, 0, 0] = 255
                seen[camera] = pixels


def _write_joints(demo, seen, length, joints, draw):
    moving = np.cumsum(draw.normal(scale=0.1, size=(length + 1, 7)), axis=0)
    states = np.zeros((length, 30))
    states[:, 1:8] = moving[:-1]
    demo["states"] = states
    rows = moving[1:] if joints == "after" else moving[:-1]
    seen["joint_states"] = rows + 0.001


def frame_number(pixels):
    """Read back which frame it is."""
    return int(pixels[pixels.shape[0] // 2, pixels.shape[1] // 2, 0])
