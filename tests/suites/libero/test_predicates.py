"""What is asked about a task; with the simulator: LIBERO's own answers at every step."""

import h5py
import numpy as np
import pytest

from phaser.core.errors import BadInput
from phaser.suites.libero.assets import assets_folder
from phaser.suites.libero.env import LiberoEnv
from phaser.suites.libero.experts.expert import Expert
from phaser.suites.libero.predicates import atoms_of
from phaser.suites.libero.progress import Milestones
from phaser.suites.libero.protocol import protocol_named
from phaser.suites.libero.replaying import replayed, replayed_file
from phaser.suites.libero.tasks import task_named

DRAWER = "cabinet_1_top_region"


def problem(*goal, begins=(), words="put it there"):
    return {
        "goal_state": [list(atom) for atom in goal],
        "initial_state": [list(atom) for atom in begins],
        "language_instruction": words.split(),
    }


def test_what_is_carried_is_grasped_and_lifted_before_it_is_there():
    asked = atoms_of(problem(("on", "bowl_1", "plate_1")), moving=())
    assert asked == (("grasped", "bowl_1"), ("lifted", "bowl_1"), ("on", "bowl_1", "plate_1"))


def test_what_is_pushed_is_touched():
    asked = atoms_of(problem(("on", "plate_1", "region"), words="push the plate"), moving=())
    assert asked == (("touched", "plate_1"), ("on", "plate_1", "region"))


def test_a_closed_drawer_is_opened_before_something_is_put_in():
    asked = atoms_of(problem(("in", "bowl_1", DRAWER)), moving={DRAWER})
    assert asked[:2] == (("touched", DRAWER), ("open", DRAWER))
    assert asked[-1] == ("in", "bowl_1", DRAWER)


def test_an_open_drawer_is_closed_last_whatever_the_order_of_the_goal():
    goal = problem(
        ("close", DRAWER),
        ("in", "bowl_1", DRAWER),
        begins=[("open", DRAWER), ("on", "bowl_1", "t")],
    )
    asked = atoms_of(goal, moving={DRAWER})
    assert asked[-2:] == (("touched", DRAWER), ("close", DRAWER))
    assert ("open", DRAWER) not in asked


def test_what_the_task_begins_with_is_not_asked():
    stove = ("turnon", "stove_1")
    asked = atoms_of(problem(("on", "pot_1", "stove"), stove, begins=[stove]), moving=())
    assert stove not in asked


def test_a_stove_is_turned_on_before_something_is_put_on_it():
    asked = atoms_of(problem(("on", "pot_1", "cook"), ("turnon", "stove_1")), moving=())
    assert asked[:2] == (("touched", "stove_1"), ("turnon", "stove_1"))


TASKS = ("put_the_bowl_on_the_plate", "turn_on_the_stove", "put_the_cream_cheese_in_the_bowl")


@pytest.fixture
def libero_env(needs_libero):
    """Makes the environment of a Goal task; all share one scene."""
    assets = assets_folder("libero-goal")
    return lambda task: LiberoEnv(task_named(task), protocol_named("phaser"), assets=assets)


def physics_of(env):
    """As LIBERO's files store a state."""
    return np.concatenate([[env.simulator.data.time], env.physics()])


def own_answer(domain, name):
    verb, *things = name.split()
    if verb == "grasped":
        return domain._check_grasp(domain.robots[0].gripper, domain.get_object(things[0]))
    return domain._eval_predicate([verb, *things])


@pytest.mark.parametrize("task", TASKS)
def test_answers_are_liberos_own_at_every_step_of_an_expert(task, libero_env):
    env = libero_env(task)
    env.place(0)
    domain, names = env.simulator.domain, env.truth.names
    asked = [k for k, name in enumerate(names) if name.split()[0] not in ("touched", "lifted")]
    expert = Expert(task, env.simulator.model, env.simulator.data)
    rows, states, solved = [], [], False
    while not solved and len(rows) < 300:
        rows.append(env.truth.now())
        states.append(physics_of(env))
        assert all(rows[-1][k] == own_answer(domain, names[k]) for k in asked)
        solved = env.step(expert.decide()[0])
    assert all(reached for _, reached in env.milestones())
    # Setting the states again tells the same, but for steps at which a contact comes or goes.
    again = replayed(domain, env.truth, np.array(states))
    assert sum(one != other for one, other in zip(rows, again, strict=True)) <= 4


def test_an_episode_in_which_nothing_happens_reaches_nothing(libero_env):
    env = libero_env(TASKS[0])
    env.place(0)
    for _ in range(3):
        env.step(np.array([0.0] * 6 + [-1.0]))
    assert [reached for _, reached in env.milestones()] == [False] * 3


def test_a_milestone_stays_reached():
    class Truths:
        names = ("grasped it", "on it there")
        rows = iter([(True, False), (False, False)])

        def now(self):
            return next(self.rows)

    watched = Milestones(Truths())
    watched.update()
    watched.update()
    assert watched.reached() == (("grasped it", True), ("on it there", False))


def test_a_files_states_tell_what_was_true_with_its_own_fixtures(libero_env, tmp_path):
    env = libero_env("open_the_middle_drawer_of_the_cabinet")
    env.place(0)
    model = env.simulator.model
    closed, opened = physics_of(env), physics_of(env)
    opened[1 + model.joint("wooden_cabinet_1_middle_level").qposadr[0]] = -0.16
    moved = '<body name="wooden_cabinet_1_main" pos="0.1 -0.2 0.3" quat="1 0 0 0"/>'
    path = tmp_path / "demo.hdf5"
    with h5py.File(path, "w") as file:
        demo = file.create_group("data/demo_0")
        file["data"].attrs["problem_info"] = '{"language_instruction": "open it"}'
        demo.attrs["model_file"] = f"<mujoco>{moved}</mujoco>"
        demo["actions"], demo["states"] = np.zeros((2, 7)), np.stack([closed, opened])
    before = model.body_pos.copy()
    found = replayed_file(env.simulator.domain, path)
    assert found.names[1] == "open wooden_cabinet_1_middle_region"
    assert [row[1] for row in found.episodes[0]] == [False, True]
    assert np.array_equal(model.body_pos, before)
    cabinet = env.simulator.data.body("wooden_cabinet_1_main").xpos
    assert np.allclose(cabinet, [0.1, -0.2, 0.3])


def test_states_of_another_task_are_refused(libero_env):
    env = libero_env(TASKS[0])
    env.place(0)
    with pytest.raises(BadInput, match="of another task"):
        replayed(env.simulator.domain, env.truth, np.zeros((1, 5)))
