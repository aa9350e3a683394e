"""Values that are computed from a tensor and kept while it stays what it is.

The priors of a network are constants of a task, and a training step asks for functions of them that take longer than
its own sums (the precision of every weight, log Gamma functions of every stick). Layers hold a `Kept` for each.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from torch import Tensor

T = TypeVar("T")


class _Known(NamedTuple, Generic[T]):
    """Of which tensor, in which version, and what."""

    source: Tensor
    version: int
    value: T


class Kept(Generic[T]):
    """What a function makes of a tensor; computed again when the tensor has been changed or replaced.

    torch counts the changes of a tensor. An assignment to its `data` is not counted, but brings another storage: the
    old one is held here, so that no other can stand at its address. Copies of a layer start without the value.
    """

    def __init__(self, function: Callable[[Tensor], T]) -> None:
        self.function = function
        self.known: _Known[T] | None = None

    def of(self, tensor: Tensor) -> T:
        """The function of this tensor."""
        known = self.known
        if known is None or known.version != tensor._version or not _is_same(known.source, tensor):
            known = _Known(tensor.detach(), tensor._version, self.function(tensor.detach()))
            self.known = known
        return known.value

    def __reduce__(self) -> tuple[type, tuple[Callable[[Tensor], T]]]:
        return Kept, (self.function,)


def _is_same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are the same piece of memory."""
    return one.data_ptr() == other.data_ptr() and one.shape == other.shape and one.stride() == other.stride()
