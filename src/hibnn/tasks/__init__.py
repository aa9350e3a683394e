"""Which task is this, and is it any of mine? p(y, t | x) = p(t | x) p(y | x, t)."""

from hibnn.inferences import INFERENCES, TaskInferenceName
from hibnn.tasks.task_inference import Mixing, TaskInference, divide, held_out_count

__all__ = ["INFERENCES", "Mixing", "TaskInference", "TaskInferenceName", "divide", "held_out_count"]
