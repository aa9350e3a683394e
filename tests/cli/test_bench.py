"""What `hibnn bench` measures, with sizes so small that only its shape is seen."""

import json

import pytest

from hibnn.cli import scale_timing
from hibnn.cli.commands import bench
from hibnn.cli.scale_timing import Sizes
from hibnn.cli.step_timing import interleaved_medians
from hibnn.evaluation.growth import Point, Series

TINY = Sizes((4, 8), (1, 2), (2, 3), (100, 300), (1, 2))


def test_the_exponent_is_the_power_of_the_larger_half():
    points = [Point(size, 0.3 * max(size, 8) ** 1.7, 5.0 * size) for size in (1, 2, 4, 8, 16, 32)]
    series = Series("rows", "an epoch", "vcl", points)
    assert series.exponent == pytest.approx(1.7)
    assert series.memory_exponent == pytest.approx(1.0)
    assert Series("rows", "an epoch", "vcl", [Point(1, 0.1), Point(2, 0.2)]).memory_exponent is None


def test_contenders_run_in_turn_and_the_first_round_does_not_count():
    ran = []
    found = interleaved_medians({"one": lambda: ran.append(1), "two": lambda: ran.append(2)}, rounds=2, steps=2)
    assert ran == [1, 1, 2, 2] * 3
    assert found.keys() == {"one", "two"}


def test_every_axis_is_measured_for_every_method(monkeypatch):
    monkeypatch.setattr(scale_timing, "in_child", lambda work, threads, *arguments: work(*arguments))
    found = list(scale_timing.bench_scale(TINY, 1))
    axes = {(one.axis, one.method) for one in found}
    assert axes >= {(axis, method) for axis in ("width", "depth", "classes", "rows") for method in ("vcl", "ibnn")}
    assert {method for axis, method in axes if axis == "tasks"} == set(scale_timing.KINDS)
    assert all(len(one.points) == 2 and min(point.seconds for point in one.points) > 0 for one in found)


def test_growth_is_printed_and_drawn(monkeypatch, tmp_path, capsys):
    points = [Point(1, 0.1, 10.0), Point(10, 1.0, 20.0), Point(100, 10.0, 200.0)]
    measured = [Series("rows", "an epoch", "vcl", points), Series("tasks", "all tasks", "ibnn-hard-stamps", points)]
    monkeypatch.setattr(bench, "bench_scale", lambda sizes, threads: iter(measured))
    assert bench.main(["scale", "--quick", "--out", str(tmp_path / "growth.svg")]) == 0
    assert "1.00" in capsys.readouterr().out
    assert "power 1.00" in (tmp_path / "growth.svg").read_text()
    assert bench.main(["scale", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["exponent"] == pytest.approx(1.0)
