"""How a network's heads are laid out over tasks, as a word; this module does not import torch."""

from enum import StrEnum


class Layout(StrEnum):
    """`multi`: a head a task. `shared`: one head, the same labels in every task. `growing`: one softmax over all
    classes seen so far, to which each task adds its outputs."""

    MULTI = "multi"
    SHARED = "shared"
    GROWING = "growing"
