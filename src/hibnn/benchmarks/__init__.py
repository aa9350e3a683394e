"""Benchmarks by name: a sequence of tasks in one of three scenarios."""

from hibnn.benchmarks.base import Benchmark, EvaluateOn, LazySplit, Scenario, Split, Task
from hibnn.benchmarks.entry import BenchmarkEntry, TaskSize, Traits
from hibnn.benchmarks.registry import benchmark, benchmarks, find_benchmark

__all__ = [
    "Benchmark",
    "BenchmarkEntry",
    "EvaluateOn",
    "LazySplit",
    "Scenario",
    "Split",
    "Task",
    "TaskSize",
    "Traits",
    "benchmark",
    "benchmarks",
    "find_benchmark",
]
