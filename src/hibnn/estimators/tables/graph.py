"""An encoder as the first nodes of an ONNX graph, so that the graph takes a table's columns as they are.

Each column is an input of its own, (rows, 1), named as in the table: numbers and truth values as numbers, NaN where one
is missing; words as strings, "" where one is missing; dates as days since 1970-01-01, NaN where one is missing. A word
that is not known counts as missing. An array's columns are one input `x`. Numbers are float32 or float64, and computed
with in double precision. `hibnn.estimators.export` calls this with the graph that torch has made of a network.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from hibnn.estimators.tables.columns import Column
from hibnn.estimators.tables.dates import EARLIEST, LATEST, PERIODS, YEAR
from hibnn.estimators.tables.encoding import TableEncoder

Precision = Literal["float32", "float64"]
INNER = "x"
"""The input of the graph that torch makes."""
ENCODED = "encoded columns"
MACHINE_LEARNING = "ai.onnx.ml"


class Nodes:
    """ONNX nodes in the order in which they are made; every tensor gets a name of its own."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.nodes: list[Any] = []

    def add(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """One more node; the name of its output."""
        from onnx import helper

        name = f"{self.prefix}/{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """A number or a list of whole numbers."""
        from onnx import numpy_helper

        return self.add("Constant", [], value=numpy_helper.from_array(np.asarray(value)))

    def double(self, tensor: str) -> str:
        """A tensor in double precision."""
        from onnx import TensorProto

        return self.add("Cast", [tensor], to=TensorProto.DOUBLE)


def with_own_inputs(
    proto: Any, encoder: TableEncoder | None, columns: int, precision: Precision
) -> list[dict[str, Any]]:
    """Replace the input of a graph by those that users have; what each of them is, for the file's metadata."""
    from onnx import TensorProto, helper

    graph = proto.graph
    for node in graph.node:
        node.input[:] = [ENCODED if name == INNER else name for name in node.input]
    number = TensorProto.FLOAT if precision == "float32" else TensorProto.DOUBLE
    nodes = Nodes("encode")
    if encoder is None:
        described = [{"name": INNER, "kind": "numbers", "type": precision}]
        inputs = [helper.make_tensor_value_info(INNER, number, ["rows", columns])]
        encoded = [nodes.double(INNER)]
    else:
        names = free_names([column.name for column in encoder.columns_], taken(graph))
        described = [describe(column, name, precision) for column, name in zip(encoder.columns_, names, strict=True)]
        kinds = [TensorProto.STRING if column.kind == "words" else number for column in encoder.columns_]
        inputs = [helper.make_tensor_value_info(*facts, ["rows", 1]) for facts in zip(names, kinds, strict=True)]
        encoded = [
            part for column, name in zip(encoder.columns_, names, strict=True) for part in encode(nodes, column, name)
        ]
    nodes.nodes.append(helper.make_node("Concat", encoded, [ENCODED], axis=1))
    own, rest = nodes.nodes, list(graph.node)
    del graph.node[:], graph.input[:]
    graph.node.extend([*own, *rest])
    graph.input.extend(inputs)
    if MACHINE_LEARNING not in {opset.domain for opset in proto.opset_import}:
        proto.opset_import.append(helper.make_opsetid(MACHINE_LEARNING, 3))
    return described


def encode(nodes: Nodes, column: Column, name: str) -> list[str]:
    """The nodes that do what `Column.encode` does; the names of their outputs, in its order."""
    if column.kind == "words":
        hot = nodes.add("OneHotEncoder", [name], domain=MACHINE_LEARNING, cats_strings=list(column.words), zeros=1)
        flat = nodes.add("Reshape", [hot, nodes.constant(np.array([-1, len(column.words)]))])
        return [nodes.double(flat)]
    value = nodes.double(name)
    gaps = nodes.add("IsNaN", [value])
    if column.kind == "date":
        for kind, limit in (("Less", EARLIEST), ("Greater", LATEST)):
            gaps = nodes.add("Or", [gaps, nodes.add(kind, [value, nodes.constant(float(limit))])])
    filled = nodes.add("Where", [gaps, nodes.constant(column.mean), value])
    encoded = [filled] if column.kind == "numbers" else encode_date(nodes, column, filled, gaps)
    return [*encoded, *([nodes.double(gaps)] if column.indicator else [])]


def encode_date(nodes: Nodes, column: Column, days: str, gaps: str) -> list[str]:
    """Years from the mean, and sines and cosines, which are 0 for a missing date."""
    encoded = []
    for part in column.parts:
        if part == "linear":
            since = nodes.add("Sub", [days, nodes.constant(column.mean)])
            encoded.append(nodes.add("Div", [since, nodes.constant(YEAR)]))
            continue
        angle = nodes.add("Mul", [days, nodes.constant(2 * np.pi / PERIODS[part])])
        for function in ("Sin", "Cos"):
            encoded.append(nodes.add("Where", [gaps, nodes.constant(0.0), nodes.add(function, [angle])]))
    return encoded


def describe(column: Column, name: str, precision: Precision) -> dict[str, Any]:
    """What an input is called and what it takes."""
    facts: dict[str, Any] = {"name": name, "column": column.name, "kind": column.kind}
    if column.kind == "words":
        return facts | {"type": "string", "words": list(column.words)}
    return facts | {"type": precision} | ({"unit": "days since 1970-01-01"} if column.kind == "date" else {})


def taken(graph: Any) -> set[str]:
    """The names of everything in a graph."""
    own = {tensor.name for tensors in (graph.initializer, graph.output) for tensor in tensors}
    return own | {name for node in graph.node for name in (*node.input, *node.output)} | {""}


def free_names(wanted: Iterable[str], taken: set[str]) -> list[str]:
    """The names, with an underscore after those that the graph has for something else."""
    found: list[str] = []
    for name in wanted:
        while name in taken or name in found:
            name += "_"
        found.append(name)
    return found
