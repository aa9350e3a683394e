"""What the options of every method are: values that are checked when they are made."""

from dataclasses import dataclass

from hibnn.checking import check_fields
from hibnn.errors import UserError


@dataclass(frozen=True)
class MethodOptions:
    """Options of a method; those of a network are `hibnn.learners.network.NetworkOptions`."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the hidden layers; none where there is no network."""
        return ()


def check_option(options: MethodOptions, name: str, good: bool, wanted: str) -> None:
    """Refuse an option's value in a sentence."""
    if not good:
        raise UserError(f"{name.replace('_', '-')} must be {wanted}, not {getattr(options, name)}.")
