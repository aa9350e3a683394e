"""An ONNX graph encodes columns exactly as the encoder does."""

import numpy as np
import pandas
import pytest

from hibnn import TableEncoder
from hibnn.estimators.tables.graph import with_own_inputs

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def identity(columns):
    """A graph that gives back its encoded columns, with a name inside that a column has too."""
    double = onnx.TensorProto.DOUBLE
    nodes = [onnx.helper.make_node("Identity", ["x"], ["age"]), onnx.helper.make_node("Identity", ["age"], ["out"])]
    facts = [[onnx.helper.make_tensor_value_info(name, double, ["rows", columns])] for name in ("x", "out")]
    proto = onnx.helper.make_model(onnx.helper.make_graph(nodes, "identity", *facts))
    proto.ir_version = 10
    proto.opset_import[0].version = 18
    return proto


def test_every_kind_of_column_is_encoded_in_the_graph():
    stamps = pandas.to_datetime(["2024-02-29 13:00", None, "1969-07-20 20:17", "2031-01-01 00:00"])
    frame = pandas.DataFrame(
        {"age": [1.5, np.nan, -3.0, 1e6], "plan": ["b", None, "a", "b"], "x": [True, False, True, True], "when": stamps}
    )
    encoder = TableEncoder().fit(frame)
    proto = identity(len(encoder.names))
    told = with_own_inputs(proto, encoder, len(encoder.names), "float64")
    assert [(facts["name"], facts["type"]) for facts in told] == [
        ("age_", "float64"), ("plan", "string"), ("x", "float64"), ("when", "float64"),
    ]  # fmt: skip
    days = (stamps - pandas.Timestamp(0)) / pandas.Timedelta(days=1)
    feed = {"age_": frame.age, "plan": frame.plan.fillna("").astype(object), "x": frame.x.astype(float), "when": days}
    feed = {name: np.asarray(values)[:, None] for name, values in feed.items()}
    session = runtime.InferenceSession(proto.SerializeToString())
    np.testing.assert_allclose(session.run(None, feed)[0], encoder.transform(frame), atol=1e-9)
    (unknown,) = session.run(None, feed | {"plan": np.full((4, 1), "c", object)})
    np.testing.assert_allclose(
        unknown, encoder.set_params(unknown="ignore").transform(frame.assign(plan="c")), atol=1e-9
    )
    far = feed | {"when": np.array([[-250_001.0], [500_001.0], [np.nan], [2_932_896.0]])}
    gaps = encoder.transform(frame.assign(plan="", when=pandas.Series([pandas.NaT] * 4)))
    np.testing.assert_allclose(session.run(None, far | {"plan": np.full((4, 1), "", object)})[0], gaps, atol=1e-9)


def test_an_array_is_one_input_of_either_precision():
    for precision in ("float32", "float64"):
        proto = identity(3)
        with_own_inputs(proto, None, 3, precision)
        x = np.arange(6, dtype=precision).reshape(2, 3)
        assert np.array_equal(runtime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0], x)
