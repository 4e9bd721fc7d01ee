"""Arrow tables of a LeRobot v3.0 dataset, with the metadata its tools look for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Shaped

from phaser.demos.lerobot_layout import CAMERA_PREFIX, COUNTERS, Shapes

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def data_schema(shapes: Shapes) -> pa.Schema:
    """One row per frame; the metadata names the column types for `datasets`."""
    fields = [(CAMERA_PREFIX + name, IMAGE) for name in shapes.cameras]
    described: dict[str, Any] = {
        CAMERA_PREFIX + name: {"_type": "Image"} for name in shapes.cameras
    }
    vectors = {"observation.state": shapes.state_names, "action": shapes.action_names}
    for name, names in vectors.items():
        fields.append((name, pa.list_(pa.float32(), len(names))))
        value = {"dtype": "float32", "_type": "Value"}
        described[name] = {"feature": value, "length": len(names), "_type": "List"}
    for name in ("timestamp", *COUNTERS, *shapes.counters):
        dtype = "float32" if name == "timestamp" else "int64"
        fields.append((name, pa.float32() if name == "timestamp" else pa.int64()))
        described[name] = {"dtype": dtype, "_type": "Value"}
    metadata = {"huggingface": json.dumps({"info": {"features": described}})}
    return pa.schema(fields, metadata=metadata)


def data_table(
    schema: pa.Schema,
    *,
    vectors: Mapping[str, Shaped[np.ndarray, "frames size"]],
    scalars: Mapping[str, Shaped[np.ndarray, "frames"]],
    pngs: Mapping[str, Sequence[bytes]],
) -> pa.Table:
    """The frames of one episode."""
    columns: dict[str, pa.Array] = {}
    for name, contents in pngs.items():
        paths = pa.nulls(len(contents), pa.string())
        parts = [pa.array(contents, pa.binary()), paths]
        columns[CAMERA_PREFIX + name] = pa.StructArray.from_arrays(parts, fields=list(IMAGE))
    for name, values in vectors.items():
        flat = pa.array(np.ascontiguousarray(values, np.float32).ravel())
        columns[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    for name, values in scalars.items():
        columns[name] = pa.array(values, schema.field(name).type)
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def tasks_table(instructions: Sequence[str]) -> pa.Table:
    """Task texts as the unnamed index of a pandas frame, which is how LeRobot reads them."""
    index = "__index_level_0__"
    column = {"metadata": None, "pandas_type": "int64", "numpy_type": "int64"}
    texts = {"metadata": None, "pandas_type": "unicode", "numpy_type": "object"}
    described = {
        "index_columns": [index],
        "column_indexes": [{"name": None, "field_name": None, **texts}],
        "columns": [
            {"name": "task_index", "field_name": "task_index", **column},
            {"name": None, "field_name": index, **texts},
        ],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.0.0",
    }
    schema = pa.schema(
        [("task_index", pa.int64()), (index, pa.large_string())],
        metadata={"pandas": json.dumps(described)},
    )
    return pa.table({"task_index": range(len(instructions)), index: instructions}, schema=schema)
