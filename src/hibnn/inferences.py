"""The ways to infer the task of an input, by their names; `hibnn.tasks.task_inference` says what they compute.

A module of its own, so that the command line knows the words without loading torch.
"""

from typing import Literal, get_args

TaskInferenceName = Literal["entropy", "mutual-information", "density"]
INFERENCES: tuple[str, ...] = get_args(TaskInferenceName)
