"""Whether a line of a file holds a record: everything that its readers rely on, checked once where it is read.

Anybody may have written or merged the files. Nothing here imports torch.
"""

from typing import Any

from hibnn.runs.record import finite, flaw_of_numbers, flaw_of_result, is_share

FORMAT = 1
NAMES = ("method", "dataset", "scenario", "granularity", "evaluate_on")
DEEPEST, MOST_EXAMPLES = 1000, 1_000_000
"""Layers of a network, and examples whose active neurons are counted."""


def is_record(line: dict[str, Any]) -> bool:
    """Whether a line holds what readers rely on."""
    words = ("digest", "regime", "version", "made")
    return (
        line.get("format") == FORMAT
        and all(isinstance(line.get(name), str) for name in words)
        and isinstance(line.get("commit", ""), str)
        and _is_experiment(line.get("experiment"))
        and isinstance(line.get("changed", {}), dict)
        and _is_result(line.get("result"))
        and _are_read_outs(line.get("read_outs", []))
        and _are_seconds(line.get("cpu"))
        and _is_structure(line.get("structure", {}))
        and _is_pruning(line.get("pruning", {}))
    )


def _is_experiment(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("options"), dict):
        return False
    seed, options = value.get("seed"), value["options"]
    sizes = all(type(options.get(name)) is int and options[name] > 0 for name in ("width", "depth"))
    hidden = options.get("hidden", [])
    listed = isinstance(hidden, list) and all(type(width) is int for width in hidden)
    named = all(isinstance(value.get(name), str) and value[name] for name in NAMES)
    return type(seed) is int and named and sizes and options["depth"] <= DEEPEST and listed


def _is_result(value: Any) -> bool:
    if not isinstance(value, dict) or flaw_of_result(value):
        return False
    tasks = value.get("cpu_seconds_per_task") or []
    units = [layers for layers in value.get("active_units_per_task") or [] if layers is not None]
    even = len({len(layers) for layers in units}) < 2 and all(units)
    return even and isinstance(tasks, list) and all(finite(seconds) is not None for seconds in tasks)


def _are_read_outs(value: Any) -> bool:
    good = isinstance(value, list) and all(isinstance(numbers, dict) for numbers in value)
    return good and not any(flaw_of_numbers(numbers) or "scenario" not in numbers for numbers in value)


def _are_seconds(value: Any) -> bool:
    good = isinstance(value, dict) and "training" in value
    return good and all(finite(seconds) is not None for seconds in value.values())


def _is_structure(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_part(name, kept) for name, kept in value.items())


def _is_part(name: str, kept: Any) -> bool:
    """Numbers of active neurons with their counts, or quantiles of sticks."""
    if not isinstance(kept, list):
        return False
    if not name.endswith(".active"):
        return all(finite(quantile) is not None for quantile in kept)
    if len(kept) != 2 or not all(isinstance(part, list) and all(type(n) is int for n in part) for part in kept):
        return False
    numbers, counts = kept
    return len(numbers) == len(counts) and min(counts, default=0) >= 0 and sum(counts) <= MOST_EXAMPLES


def _is_pruning(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if not value:
        return True
    curves = value.get("curves")
    whole = type(value.get("weights")) is int and isinstance(curves, list) and bool(curves)
    return whole and type(value.get("draws", 1)) is int and all(_is_curve(curve) for curve in curves or ())


def _is_curve(curve: Any) -> bool:
    if not isinstance(curve, dict) or not all(isinstance(curve.get(name), str) for name in ("ranking", "removal")):
        return False
    percentages, accuracies = curve.get("percentages"), curve.get("accuracies")
    if not isinstance(percentages, list) or not isinstance(accuracies, list):
        return False
    shares = all(finite(percent) is not None and 0 <= percent <= 100 for percent in percentages)
    return (
        shares and percentages[:1] == [0.0] and len(percentages) == len(accuracies) and all(map(is_share, accuracies))
    )
