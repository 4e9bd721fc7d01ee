#!/usr/bin/env bash
# The lowest and the highest versions of what a plain install needs: one environment each, outside
# of .venv, with the tests of Replay in it.
#
#   scripts/test_versions.sh [lowest|highest] [FOLDER]
#
# The lowest are those that pyproject.toml names; torch for a CPU, where the index has such builds.
set -euo pipefail
cd "$(dirname "$0")/.."
which=${1:-lowest}
folder=${2:-.venv-versions/$which}
python=${PYTHON:-python3.11}
tests=${TESTS:-tests/replay/test_samples_come_back.py tests/replay/test_mixing_batches.py
    tests/replay/test_replay_tasks.py tests/memory/test_store.py tests/memory/test_store_samples.py}
export PIP_CONSTRAINT= PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_NUM_THREADS=1

# A name and its lower bound per line, from the first list of dependencies.
bounds=$("$python" - <<'PYTHON'
import re, tomllib

with open("pyproject.toml", "rb") as stream:
    project = tomllib.load(stream)["project"]
for line in [*project["dependencies"], *project["optional-dependencies"]["encoders"]]:
    name, version = re.fullmatch(r"([\w.-]+)>=([\w.]+)", line).groups()
    print(f"{name}=={version}")
PYTHON
)
case $which in
lowest)
    wanted=$bounds
    # The oldest jaxtyping cannot check every annotation of ours; nobody but the tests lets it.
    export PHASER_SHAPES_UNCHECKED=1
    ;;
highest) wanted=$(sed 's/==.*//' <<<"$bounds") ;;
*) echo "test_versions: $which; expected lowest or highest" >&2; exit 2 ;;
esac

"$python" -m venv "$folder"
# shellcheck disable=SC2086
"$folder/bin/python" -m pip install --quiet --quiet --no-compile $wanted pyarrow beartype hypothesis pytest
"$folder/bin/python" -m pip install --quiet --quiet --no-compile --no-deps --editable .
"$folder/bin/python" -m pip list 2>/dev/null | grep -iE '^(numpy|pillow|jaxtyping|torch|platformdirs|safetensors|tokenizers|pyarrow|phaser-vla) '
# shellcheck disable=SC2086
"$folder/bin/python" -m pytest -q -p no:cacheprovider $tests
