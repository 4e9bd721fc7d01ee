"""What a rule may see of frames: the frozen features that the prototypes are means of."""

import numpy as np
import pytest
from made_up_run import made_up_run

from phaser.experiments.prepare import Preparation


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    run = made_up_run(tmp_path_factory.mktemp("features-cache"))
    preparation = Preparation.of(run.suite, run.policy, run.encoders, chunk_length=4)
    return preparation.material(run.suite.tasks()[0], run.method.segmenter).prepared


def test_a_prepared_task_has_one_row_of_features_per_frame_of_each_demonstration(prepared):
    tables = [prepared.features(demo) for demo in prepared.demos]
    assert [len(table) for table in tables] == [demo.num_frames for demo in prepared.demos]
    assert not np.array_equal(tables[0], tables[1])


def test_the_mean_of_a_phases_features_is_the_sight_of_its_prototype(prepared):
    for phase, prototype in enumerate(prepared.prototypes):
        rows = [
            prepared.features(demo)[cut.phases[phase].start : cut.phases[phase].stop]
            for demo, cut in zip(prepared.demos, prepared.segmentations, strict=True)
        ]
        mean = np.concatenate(rows).astype(np.float64).mean(axis=0)
        assert np.array_equal(mean, prototype.vision)
