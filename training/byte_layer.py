"""Writes the graph of a layer of bytes: `python -m training.byte_layer`.

One product in whole numbers, a scale, a bias and a ramp (`models/encoders/integer_products.py`).
Weights are inputs of the graph, so one file serves all layers and all versions of their package.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import onnx
from onnx import TensorProto, helper

FILE: Final = Path("src/echoless/models/encoders/byte_layer.onnx")
OPSET: Final = 13
IR_VERSION: Final = 8
CONTRIB: Final = "com.microsoft"
"""Operators of ONNX Runtime itself."""

INPUTS: Final = {
    "rows": (TensorProto.UINT8, ["count", "inner"]),
    "weights": (TensorProto.INT8, ["inner", "columns"]),
    "scale": (TensorProto.FLOAT, ["columns"]),
    "zero": (TensorProto.UINT8, []),
    "bias": (TensorProto.FLOAT, ["columns"]),
}


def graph() -> onnx.ModelProto:
    """Returns the model."""
    # the scale of the rows is 1: that of the columns stands for both
    names = ["rows", "weights", "one", "scale", "zero", "", "bias"]
    product = helper.make_node("MatMulIntegerToFloat", names, ["sums"], domain=CONTRIB)
    inputs = [helper.make_tensor_value_info(name, *kind) for name, kind in INPUTS.items()]
    made = helper.make_tensor_value_info("made", TensorProto.FLOAT, ["count", "columns"])
    one = helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])
    ramp = helper.make_node("Relu", ["sums"], ["made"])
    layer = helper.make_graph([product, ramp], "layer", inputs, [made], initializer=[one])
    sets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(layer, opset_imports=sets, ir_version=IR_VERSION)


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(prog="python -m training.byte_layer", description=__doc__)
    parser.add_argument("--out", type=Path, default=FILE)
    parser.parse_args().out.write_bytes(graph().SerializeToString())


if __name__ == "__main__":
    main()
