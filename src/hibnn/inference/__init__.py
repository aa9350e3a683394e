"""Which task is this, and is it any of mine? p(y, t | x) = p(t | x) p(y | x, t)."""

from hibnn.inference.companion import INFERENCES, Infer, Mixing, TaskInference, held_out_count, held_out_part
from hibnn.inference.predict import Answer, predict

__all__ = ["INFERENCES", "Answer", "Infer", "Mixing", "TaskInference", "held_out_count", "held_out_part", "predict"]
