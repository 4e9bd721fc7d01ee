"""HDF5 files as LIBERO's script writes them: made up, or played in the real simulator."""

import json

import h5py
import numpy as np

from phaser.suites.libero.published import demonstration_name


def write_made_up(folder, task, *, count=5, length=12, side=32, idle=(), **attributes):
    """Pixels count frames; the left half of the top row is white as a camera sees it upright."""
    folder.mkdir(parents=True, exist_ok=True)
    with h5py.File(folder / demonstration_name(task), "w") as file:
        data = file.create_group("data")
        data.attrs["bddl_file_name"] = f"bddl_files/libero_goal/{task}.bddl"
        data.attrs["macros_image_convention"] = "opengl"
        for name, value in attributes.items():
            data.attrs[name] = value
        for number in range(count):
            draw = np.random.default_rng(number)
            actions = draw.uniform(0.1, 1, (length, 7))
            actions[:, 6] = np.where(np.arange(length) < length // 2, -1.0, 1.0)
            actions[list(idle), :6] = 0.0
            pixels = np.zeros((length, side, side, 3), np.uint8)
            pixels[:] = np.arange(length, dtype=np.uint8)[:, None, None, None]
            pixels[:, -1, : side // 2] = 255
            write_demo(
                data.create_group(f"demo_{number}"),
                actions=actions,
                ee_states=np.c_[draw.normal(size=(length, 3)), draw.normal(size=(length, 3))],
                gripper_states=draw.normal(size=(length, 2)),
                joint_states=draw.normal(size=(length, 7)),
                agentview_rgb=pixels,
                eye_in_hand_rgb=pixels,
            )


def write_demo(group, *, actions, **seen):
    group["actions"] = actions
    if "states" in seen:
        group["states"] = seen.pop("states")
    observed = group.create_group("obs")
    for name, values in seen.items():
        observed[name] = np.asarray(values)


def write_played(folder, task, simulator, *, states=(0, 1, 2), length=14):
    """Random commands from official initial states, in the order of scripts/create_dataset.py:
    the simulator's state, then the action, then what is seen. Returns what was seen before each."""
    from phaser.suites.libero.simulator import axis_angle

    folder.mkdir(parents=True, exist_ok=True)
    before = {}
    with h5py.File(folder / demonstration_name(task), "w") as file:
        data = file.create_group("data")
        data.attrs["problem_info"] = json.dumps({"language_instruction": "as its name says"})
        data.attrs["macros_image_convention"] = "opengl"
        for number, state in enumerate(states):
            draw = np.random.default_rng(number)
            simulator.place(state)
            rows = {name: [] for name in ("states", "actions", "ee_states", "gripper_states")}
            rows |= {name: [] for name in ("joint_states", "agentview_rgb", "eye_in_hand_rgb")}
            before[number] = []
            for _ in range(length):
                command = draw.uniform(-1, 1, 7)
                before[number].append((command, simulator.state(), simulator.images()))
                rows["states"].append(simulator.domain.sim.get_state().flatten())
                rows["actions"].append(command)
                simulator.step(command)
                robot, moved = simulator.domain.robots[0], simulator.data
                quaternion = moved.body(robot.robot_model.eef_name).xquat
                position = moved.site_xpos[robot.eef_site_id]
                rows["ee_states"].append(np.r_[position, axis_angle(quaternion)])
                fingers = moved.qpos[robot._ref_gripper_joint_pos_indexes]
                rows["gripper_states"].append(fingers.copy())
                rows["joint_states"].append(moved.qpos[robot._ref_joint_pos_indexes].copy())
                images = simulator.images()
                rows["agentview_rgb"].append(images["agentview"][::-1])
                rows["eye_in_hand_rgb"].append(images["robot0_eye_in_hand"][::-1])
            write_demo(data.create_group(f"demo_{number}"), **rows)
    return before
