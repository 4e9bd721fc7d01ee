"""The ranges of versions in pyproject.toml hold: no newer name of torch or numpy is used."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
# Added after torch 2.2, and after numpy 1.26.
NEWER_TORCH = ("uint16", "uint32", "uint64", "nn.RMSNorm", "rms_norm", "accelerator")
NEWER_NUMPY = (
    *("astype", "concat", "permute_dims", "matrix_transpose", "vecdot", "unstack", "trapezoid"),
    *("cumulative_sum", "cumulative_prod", "isdtype", "bitwise_count", "unique_values", "strings"),
    *("acos", "asin", "atan", "pow", "matvec", "vecmat", "long", "bool"),
)
# Gone in numpy 2.
OLDER_NUMPY = (
    "float_",
    "int0",
    "in1d",
    "trapz",
    "product",
    "cumproduct",
    "row_stack",
    "NaN",
    "Inf",
)


def newer(prefix: str, names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b{prefix}\.({'|'.join(map(re.escape, names))})\b")


def uses(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}: {found}"
        for path in SOURCES
        for found in pattern.findall(path.read_text())
    ]


@pytest.mark.parametrize(
    ("prefix", "names"),
    [("torch", NEWER_TORCH), ("np", NEWER_NUMPY), ("np", OLDER_NUMPY), ("F", ("rms_norm",))],
)
def test_no_name_is_used_that_a_promised_version_lacks(prefix: str, names: tuple[str, ...]) -> None:
    assert newer(prefix, names).findall(f"{prefix}.{names[0]}(x)") == [names[0]]
    assert uses(newer(prefix, names)) == []


def test_only_training_asks_for_the_fused_optimiser() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert '"torch>=2.2"' in project.split("[project.optional-dependencies]")[0]
    (extra,) = re.findall(r"^cli = (\[.*?^\])$", project, re.MULTILINE | re.DOTALL)
    assert '"torch>=2.4"' in extra
    users = [path for path in SOURCES if "fused=True" in path.read_text()]
    assert [path.parent.name for path in users] == ["training"]
