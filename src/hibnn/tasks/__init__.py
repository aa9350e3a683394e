"""Which task is this, and is it any of mine? p(y, t | x) = p(t | x) p(y | x, t)."""

from hibnn.tasks.predict import Answer, predict
from hibnn.tasks.task_inference import (
    INFERENCES,
    Mixing,
    TaskInference,
    TaskInferenceName,
    held_out_count,
    held_out_part,
)

__all__ = [
    "INFERENCES",
    "Answer",
    "Mixing",
    "TaskInference",
    "TaskInferenceName",
    "held_out_count",
    "held_out_part",
    "predict",
]
