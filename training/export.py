"""Writes trained weights as files that ship: `python -m training.export CHECKPOINT --out FOLDER`.

The network is written in standard ONNX operators. Linear layers multiply whole numbers: weights are
rounded to 7 bits a column, activations to 8 bits a pair, in the feed-forward layers a token. So a
pair's scores hang neither on the pairs beside it nor on the processor: with 7 bits no sum of two
products leaves 16 bits, which processors without VNNI would cut off. Of several checkpoints the
mean is written.

Where an exit says of a pair less than its bound, the layers behind it are not run: they stand in
the branch of an `If`. The bounds come with the checkpoint (`training.exits`). The layers of
`training.replacing` are a file of their own, which reads the states that the first ones give out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from training.bases import Base
from training.corpora import PIECES, named_base

OPSET: Final = 20
PARTS: Final = ("weight", "bias")
JOINT: Final = "+"
WEIGHT_STEPS: Final = 63
"""Largest whole number a weight is rounded to, on either side of 0."""
BY_TOKEN: Final = frozenset({"inner", "outer"})
"""Linear layers whose states are rounded token by token."""


class Graph:
    """Collects nodes and constants of an ONNX graph, or of a branch within one."""

    def __init__(self, count: int = 0) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.count = count
        """Of the names that were given; a branch goes on from those of its graph."""

    def branch(self, *outs: str) -> onnx.GraphProto:
        """Returns what was collected as the branch of an `If`: logits, and states if it has any."""
        shapes = [1, 3], [1, None, None]
        outputs = [
            helper.make_tensor_value_info(out, TensorProto.FLOAT, shape)
            for out, shape in zip(outs, shapes, strict=False)
        ]
        return helper.make_graph(self.nodes, f"branch_{outs[0]}", [], outputs, self.constants)

    def constant(self, array: np.ndarray, name: str = "") -> str:
        """Adds a constant and returns its name."""
        self.count += 1
        name = name or f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def add(self, kind: str, *inputs: str, out: str = "", **attributes: object) -> str:
        """Adds a node with one output and returns the output's name."""
        self.count += 1
        name = out or f"t{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name


def rounded(weight: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns int8 weights and the float32 scale of each row of a matrix."""
    scale = np.maximum(np.abs(weight).max(axis=1), 1e-8) / steps
    whole = np.clip(np.rint(weight / scale[:, None]), -steps, steps)
    return whole.astype(np.int8), scale.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Rows:
    """States rounded to 8 bits, as names of the graph.

    Attributes:
        whole: The whole numbers.
        scale: What one step is worth.
        zero: The whole number that stands for 0.
        peak: What each token was divided by before; None where it was not.
    """

    whole: str
    scale: str
    zero: str
    peak: str | None = None


def quantised(graph: Graph, states: str, *, by_token: bool = False) -> Rows:
    """Adds the rounding of all tokens of a pair to 8 bits.

    Args:
        graph: Takes the nodes.
        states: Of all tokens.
        by_token: Divide each token by its largest number before, so that a single large token does
            not take the steps of all others. Worth its time in the feed-forward layers: there it
            brings the mean error of a logit from .5 down to .15 for 17 % more time.
    """
    peak = None
    if by_token:
        last = graph.constant(np.array([-1], dtype=np.int64))
        largest = graph.add("ReduceMax", graph.add("Abs", states), last, keepdims=1)
        peak = graph.add("Max", largest, graph.constant(np.float32(1e-6)))
        states = graph.add("Div", states, peak)
    names = [f"q{graph.count}{kind}" for kind in "nsz"]
    graph.count += 1
    graph.nodes.append(helper.make_node("DynamicQuantizeLinear", [states], names))
    return Rows(names[0], names[1], names[2], peak)


def linear(graph: Graph, rows: Rows, weight: np.ndarray, bias: np.ndarray, name: str) -> str:
    """Adds a linear layer over quantised states; `weight` has shape (out, in)."""
    stored, columns = rounded(weight, WEIGHT_STEPS)
    product = graph.add(
        "MatMulInteger",
        rows.whole,
        graph.constant(stored.T, f"{name}.whole"),
        rows.zero,
        graph.constant(np.zeros(len(stored), dtype=np.int8)),
    )
    both = graph.add("Mul", rows.scale, graph.constant(columns, f"{name}.scale"))
    back = graph.add("Mul", graph.add("Cast", product, to=TensorProto.FLOAT), both)
    if rows.peak:
        back = graph.add("Mul", back, rows.peak)
    return graph.add("Add", back, graph.constant(bias, f"{name}.bias"))


def norm(graph: Graph, states: str, state: dict[str, np.ndarray], name: str, base: Base) -> str:
    """Adds a layer norm over the last axis."""
    names = (graph.constant(state[f"{name}.{part}"], f"{name}.{part}") for part in PARTS)
    return graph.add("LayerNormalization", states, *names, axis=-1, epsilon=base.epsilon)


def heads(graph: Graph, states: str, count: int, size: int) -> str:
    """Adds (batch, length, hidden) to (batch, heads, length, size)."""
    shape = graph.constant(np.array([0, 0, count, size], dtype=np.int64))
    return graph.add("Transpose", graph.add("Reshape", states, shape), perm=[0, 2, 1, 3])


def layer(graph: Graph, states: str, state: dict[str, np.ndarray], base: Base, at: int) -> str:
    """Adds one transformer layer."""

    def wide(states: str, *names: str) -> str:
        """Adds one linear layer for several of the network's that read the same states."""
        weights, biases = ([state[f"layers.{at}.{n}.{part}"] for n in names] for part in PARTS)
        rows = quantised(graph, states, by_token=names[0] in BY_TOKEN)
        name = f"layers.{at}.{JOINT.join(names)}"
        return linear(graph, rows, np.concatenate(weights), np.concatenate(biases), name)

    size = base.hidden // base.heads
    asked = wide(states, "query", "key", "value")
    names = [f"{asked}{kind}" for kind in "qkv"]
    graph.nodes.append(helper.make_node("Split", [asked], names, axis=-1, num_outputs=3))
    query, key, value = (heads(graph, name, base.heads, size) for name in names)
    across = graph.add("Transpose", key, perm=[0, 1, 3, 2])
    scores = graph.add(
        "Mul", graph.add("MatMul", query, across), graph.constant(np.float32(size**-0.5))
    )
    chances = graph.add("Softmax", scores, axis=-1)
    seen = graph.add("Transpose", graph.add("MatMul", chances, value), perm=[0, 2, 1, 3])
    shape = graph.constant(np.array([0, 0, base.hidden], dtype=np.int64))
    seen = wide(graph.add("Reshape", seen, shape), "attention")
    states = graph.add("Add", states, seen)
    states = norm(graph, states, state, f"layers.{at}.attention_norm", base)
    outer = wide(graph.add("Gelu", wide(states, "inner")), "outer")
    return norm(graph, graph.add("Add", states, outer), state, f"layers.{at}.outer_norm", base)


def pooled(graph: Graph, states: str, weights: str) -> str:
    """Adds the mean of the states that `weights`, (batch, 1, length), chooses."""
    axes = graph.constant(np.array([1], dtype=np.int64))
    return graph.add("Squeeze", graph.add("MatMul", weights, states), axes)


def answer(graph: Graph, states: str, state: dict[str, np.ndarray], name: str) -> str:
    """Adds three logits from the states of a layer, by the head of this name."""
    start = graph.add("Gather", states, graph.constant(np.int64(0)), axis=1)
    of_a, of_b = pooled(graph, states, "of_a"), pooled(graph, states, "of_b")
    apart = graph.add("Abs", graph.add("Sub", of_a, of_b))
    both = graph.add("Concat", start, of_a, of_b, apart, graph.add("Mul", of_a, of_b), axis=-1)
    first, second = (
        (state[f"{name}.{at}.weight"], state[f"{name}.{at}.bias"], f"{name}.{at}") for at in (0, 2)
    )
    inner = linear(graph, quantised(graph, both), *first)
    return linear(graph, quantised(graph, graph.add("Gelu", inner)), *second)


Shapes = Mapping[str, list]
TRUNK: Final = 4
"""Layers of the trunk: behind it the layers of `replacing` branch off."""
Bounds = Mapping[int, float]
"""For each exit, the number of layers before it, the largest logit below which it is taken."""


def answers(
    graph: Graph, states: str, state: dict[str, np.ndarray], base: Base, bounds: Bounds, at: int = 0
) -> list[str]:
    """Adds the layers from `at` on, with the exits between them.

    Returns:
        The logits, and the states of the trunk if its last layer is among them. Where an exit
        before was taken, the states have no tokens.
    """
    count = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    trunk = []
    for place in range(at, count):
        states = layer(graph, states, state, base, place)
        if place + 1 == TRUNK:
            trunk = [states]
        if (bound := bounds.get(place + 1)) is not None:
            early = answer(graph, states, state, f"exits.{place + 1}")
            most = graph.add("ReduceMax", early, keepdims=0)
            left = graph.add("Less", most, graph.constant(np.float32(bound)))
            leave, stay = Graph(graph.count), Graph(graph.count + 1)
            last = answers(stay, states, state, base, bounds, place + 1)
            out = [leave.add("Identity", early), *(nothing(leave, states) for _ in last[1:])]
            graph.count = stay.count
            branches = {"then_branch": leave.branch(*out), "else_branch": stay.branch(*last)}
            names = [f"{name}.either" for name in last]
            graph.nodes.append(helper.make_node("If", [left], names, **branches))
            return [*names, *trunk]
    return [answer(graph, states, state, "head"), *trunk]


def nothing(graph: Graph, states: str) -> str:
    """Adds states without tokens."""
    zero, axis = (graph.constant(np.array([number], dtype=np.int64)) for number in (0, 1))
    return graph.add("Slice", states, zero, zero, axis)


def network(state: dict[str, np.ndarray], base: Base, bounds: Bounds) -> onnx.ModelProto:
    """Returns the network as ONNX: one embedded pair to three logits.

    Inputs are `states` (1, length, hidden): the sum of all embeddings before their norm; `of_a` and
    `of_b` (1, 1, length): weights that sum up to 1 over the tokens of a side. Outputs are `logits`
    (1, 3) and `trunk`, the states that the layers of `replacing` read.
    """
    graph = Graph()
    states = norm(graph, "states", state, "embedding_norm", base)
    outputs = {"logits": [1, 3], "trunk": [1, None, base.hidden]}
    for said, out in zip(answers(graph, states, state, base, bounds), outputs, strict=True):
        graph.add("Identity", said, out=out)
    return model(graph, "pair_model", {"states": [1, "length", base.hidden]}, outputs)


def replacing(state: dict[str, np.ndarray], base: Base) -> onnx.ModelProto:
    """Returns the layers that tell whether the newer text makes the older one out of date.

    Inputs are `trunk` (1, length, hidden) of `network`; `ages` (1, length), whole numbers: 1 for
    the tokens of the older text, 2 of the newer one, else 0; `of_a` and `of_b`. It gives a logit.
    """
    graph = Graph()
    age = graph.add("Gather", graph.constant(state["age.weight"], "age.weight"), "ages")
    states = graph.add("Add", "trunk", age)
    for place in range(1 + max(int(n.split(".")[1]) for n in state if n.startswith("layers."))):
        states = layer(graph, states, state, base, place)
    graph.add("Identity", answer(graph, states, state, "head"), out="logit")
    return model(graph, "replacing", {"trunk": [1, "length", base.hidden]}, {"logit": [1, 1]})


def model(graph: Graph, name: str, states: Shapes, outputs: Shapes) -> onnx.ModelProto:
    """Returns a checked ONNX model of a graph that reads states and the tokens of each side."""
    sides = {"of_a": [1, 1, "length"], "of_b": [1, 1, "length"]}
    wanted, given = (
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in each.items()]
        for each in ({**states, **sides}, outputs)
    )
    if "trunk" in states:
        wanted.append(helper.make_tensor_value_info("ages", TensorProto.INT64, [1, "length"]))
    made = helper.make_graph(graph.nodes, name, wanted, given, graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def embeddings(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the arrays of the embedding lookup: words as int8 with a scale each."""
    words, scales = rounded(state["word.weight"], 127)
    small = {name: state[f"{name}.weight"] for name in ("position", "side", "shared")}
    return {"words": words, "scales": scales.astype(np.float16), **small}


def constants(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Yields the constants of a graph and of the branches within it."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from constants(attribute.g)


def read_back(folder: Path) -> dict[str, np.ndarray]:
    """Returns the state of a network from its exported files, as far as rounding kept it.

    Without the layers of `replacing`, which are no part of the network that is trained.
    """
    state = read_layers(folder / "layers.onnx")
    words = np.load(folder / "words.npy").astype(np.float32)
    with np.load(folder / "embeddings.npz") as arrays:
        state["word.weight"] = words * arrays["scales"].astype(np.float32)[:, None]
        state |= {f"{name}.weight": arrays[name] for name in ("position", "side", "shared")}
    return state


def read_layers(path: Path) -> dict[str, np.ndarray]:
    """Returns the weights of layers, norms and heads in an exported graph."""
    stored = {c.name: numpy_helper.to_array(c) for c in constants(onnx.load(str(path)).graph)}
    kept = ("norm.weight", "bias", "age.weight")
    state = {name: array for name, array in stored.items() if name.endswith(kept)}
    for name, whole in stored.items():
        if name.endswith(".whole"):
            first = name.removesuffix(".whole")
            weight = whole.T.astype(np.float32) * stored[f"{first}.scale"][:, None]
            place, _, names = first.rpartition(".")
            joined, biases = names.split(JOINT), state.pop(f"{first}.bias")
            for part, rows, bias in zip(
                joined, np.split(weight, len(joined)), np.split(biases, len(joined)), strict=True
            ):
                state[f"{place}.{part}.weight"], state[f"{place}.{part}.bias"] = rows, bias
    return state


def mean(states: list[dict[str, torch.Tensor]]) -> dict[str, np.ndarray]:
    """Returns the mean of the weights of several networks, where one was trained on from another.

    It does better than each of them (Wortsman and others, Model soups, 2022): with the data of the
    last part alone the network gains on notes and loses a little on sentences.
    """
    means = {}
    for name in states[-1]:
        some = [state[name].double() for state in states if name in state]  # one may lack exits
        means[name] = (sum(some) / len(some)).float().numpy()
    return means


def digest(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checkpoint(path: Path) -> dict:
    """Returns state, step and bounds of exits: of a checkpoint, or of a folder of weights."""
    if not path.is_dir():
        return dict(torch.load(path))
    manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    state = {name: torch.from_numpy(array.copy()) for name, array in read_back(path).items()}
    bounds = {int(at): bound for at, bound in manifest["exits"].items()}
    return {"network": state, "step": manifest["steps"][-1], "bounds": bounds}


def main() -> None:
    """Writes `pieces.json`, `words.npy`, `embeddings.npz`, the layers and `manifest.json`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkpoint", type=Path, nargs="+", help="of several the mean is written")
    parser.add_argument(
        "--replacing", type=Path, nargs="+", required=True, help="of `training.replacing`, likewise"
    )
    parser.add_argument("--base", choices=("minilm", "e5"), default="e5")
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    base = named_base(chosen.base)
    checkpoints = [checkpoint(path) for path in chosen.checkpoint]
    state = mean([each["network"] for each in checkpoints])
    later = mean([torch.load(path)["network"] for path in chosen.replacing])
    chosen.out.mkdir(parents=True, exist_ok=True)
    arrays = embeddings(state)
    np.save(chosen.out / "words.npy", arrays.pop("words"))
    np.savez(chosen.out / "embeddings.npz", **arrays)
    bounds = checkpoints[-1].get("bounds", {})
    onnx.save(network(state, base, bounds), str(chosen.out / "layers.onnx"))
    onnx.save(replacing(later, base), str(chosen.out / "replacing.onnx"))
    shutil.copy(PIECES, chosen.out / "pieces.json")
    names = ("pieces.json", "words.npy", "embeddings.npz", "layers.onnx", "replacing.onnx")
    digests = {name: digest(chosen.out / name) for name in names}
    manifest = {
        "name": f"echoless-pair-{base.name}",
        "steps": [each["step"] for each in checkpoints],
        "start": base.start,
        "end": base.end,
        "padding": base.padding,
        "exits": bounds,
        "files": digests,
    }
    (chosen.out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    for name in names:
        print(f"{name}: {(chosen.out / name).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
