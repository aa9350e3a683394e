"""Options of DEN. The defaults are the published ones, with epochs in place of steps."""

from dataclasses import dataclass

from hibnn.learners.network import NetworkOptions, check_option


@dataclass(frozen=True)
class DenOptions(NetworkOptions):
    """A network that expands; `width` is where every layer starts."""

    epochs: int = 20
    """passes over a task's data in each stage: one stage for the first task, four for the others"""
    batch_size: int = 256
    width: int = 50
    """neurons in each hidden layer at the start"""
    decay: float = 0.95
    """factor of the learning rate after each epoch of a stage"""
    l1: float = 1e-5
    """soft threshold of all trained weights after each step"""
    l2: float = 1e-4
    """weight of half the squared weights"""
    group: float = 1e-3
    """soft threshold of a new unit's incoming weights, as a group, after each step"""
    drift: float = 0.5
    """weight of half the squared distance from the weights before the task"""
    expansion: int = 10
    """units that an expansion adds to each layer"""
    loss_threshold: float = 0.01
    """expand if the training loss is above this"""
    split_threshold: float = 0.05
    """split a unit whose incoming weights moved further than this"""
    split_limit: int = 10
    """at most so many units of a layer are split in a task: those that moved most"""
    timestamps: bool = True
    """whether each task is answered by the network as it stood at the task's end; --no-timestamps: as it is now"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("l1", "l2", "group", "drift", "expansion", "loss_threshold", "split_threshold", "split_limit"):
            check_option(self, name, getattr(self, name) >= 0, "at least 0")
        check_option(self, "decay", 0 < self.decay <= 1, "above 0 and at most 1")
