"""Values are checked where they come in, the same from Python, TOML and JSON."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
import pytest

from hibnn import UserError
from hibnn.checking import check_fields


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Values:
    count: int = 1
    rate: float = 0.5
    on: bool = False
    word: Literal["soft", "hard"] = "soft"
    colour: Colour = Colour.RED
    sizes: tuple[int, ...] = ()
    most: float | None = None

    def __post_init__(self):
        check_fields(self)


def test_values_are_brought_to_their_types():
    made = Values(count=np.int64(3), rate=2, colour="red", sizes=[4, 5], most=np.float32(1))
    assert made == Values(3, 2.0, False, "soft", Colour.RED, (4, 5), 1.0)
    assert [type(value) for value in vars(made).values()] == [int, float, bool, str, Colour, tuple, float]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"count": 1.0}, "count must be a whole number, not 1.0"),
        ({"count": True}, "count must be a whole number, not True"),
        ({"rate": "1"}, "rate must be a finite number, not '1'"),
        ({"rate": True}, "rate must be a finite number"),
        ({"rate": float("nan")}, "rate must be a finite number"),
        ({"on": 1}, "on must be true or false, not 1"),
        ({"word": "sotf"}, "did you mean 'soft'"),
        ({"colour": "rad"}, "did you mean 'red'"),
        ({"sizes": 3}, "sizes must be a list, not 3"),
        ({"sizes": [3, 4.5]}, "sizes must be a whole number, not 4.5"),
        ({"most": "all"}, "most must be a finite number"),
    ],
)
def test_a_value_of_another_type_is_refused_in_a_sentence(wrong, sentence):
    with pytest.raises(UserError, match=sentence):
        Values(**wrong)
