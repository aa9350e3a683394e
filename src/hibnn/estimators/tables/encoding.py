"""`TableEncoder`: from a table's columns to numbers, by rules learned on the first table and kept with the model.

Columns of numbers, truth values, words and dates are understood (`columns` says what becomes of each); identifiers are
left out (`learning`). Columns that never change are kept: a later table may change them. The estimators have one as
`encoder_` if their first inputs had named columns, the command line learns it in one pass over the first file, and the
model's file stores it as JSON.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hibnn.checking import check_fields, checked
from hibnn.errors import UserError, unknown, value_errors
from hibnn.estimators.tables.columns import Column, Unknown
from hibnn.estimators.tables.dates import count_far_off
from hibnn.estimators.tables.frames import as_table
from hibnn.estimators.tables.learning import ColumnStatistics, ambiguous, count_column, describe

MOST_COLUMNS = 5000
"""Encoded columns; the first layer has a distribution of weights for each."""
POLICIES = ("refuse", "ignore")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Tables of numbers, truth values, words and dates, with gaps, as numbers.

    It takes pandas and polars data frames, Arrow tables, dictionaries of columns and arrays, and may stand in a
    pipeline. Rules are learned once: `partial_fit` learns them from the first table and checks later ones against them,
    because the network behind it has as many inputs as the first table asked for.

    Parameters
    ----------
    unknown : {"refuse", "ignore"}
        What to do with a word that the first table did not have, or a date that is none: raise, or treat it as missing.
    drop : sequence of str
        Columns to leave out.

    Attributes
    ----------
    columns_ : the rule for each column that is used.
    left_out_ : names of columns that are dropped, or hold a different word in nearly each row.
    remarks_ : sentences about what was found.
    """

    columns_: tuple[Column, ...]
    left_out_: tuple[str, ...]
    remarks_: tuple[str, ...]
    feature_names_in_: NDArray[Any]
    n_features_in_: int

    def __init__(self, *, unknown: Unknown = "refuse", drop: Sequence[str] = ()) -> None:
        self.unknown: Unknown = unknown
        self.drop = drop

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the rules of a table; a warning names the columns that are left out."""
        with value_errors():
            table = as_table(X)
            for name in self.drop:
                if name not in table.column_names:
                    raise UserError(f"the table has no column {name!r} to drop.")
            self.learn([table])
        for remark in self.remarks_:
            warnings.warn(remark, stacklevel=2)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn the rules if there are none yet, otherwise check that a table can be encoded by them."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y)
        self.transform(X)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The rows as numbers; columns are found by name, in any order, and those that are not known are ignored."""
        check_is_fitted(self)
        with value_errors():
            table = as_table(X, self.feature_names_in_.tolist())
            encoded = self.encode(table, self.unknown)
            extra = self.extra_columns(table.column_names)
            if extra:
                warnings.warn(f"the table has columns that the model does not know: {listed(extra)}.", stacklevel=2)
            return encoded

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the encoded columns."""
        check_is_fitted(self)
        return np.array(self.names, dtype=object)

    def learn(self, tables: Iterable[Any]) -> Self:
        """The rules from the pieces of an Arrow table, which need not fit into memory together."""
        check_policy(self.unknown)
        found: dict[str, ColumnStatistics] = {}
        far: Counter[str] = Counter()
        for table in tables:
            for name in table.column_names:
                statistics = found.setdefault(name, ColumnStatistics())
                if name not in self.drop:
                    count_column(statistics, name, table[name])
                    far[name] += count_far_off(table[name], name)
        rules = {name: describe(name, statistics) for name, statistics in found.items() if name not in self.drop}
        if not any(rules.values()):
            raise UserError("the table has no column besides the target to learn from, or no rows.")
        names = [name for name, rule in rules.items() if rule is None]
        mixed = [name for name in rules if ambiguous(found[name])]
        remarks = [f"column {name!r} has a different word in nearly each row and is left out." for name in names]
        remarks += [f"the dates of column {name!r} are read as day/month/year." for name in mixed]
        remarks += [
            f"column {name!r} holds dates before 1285 or after 3338 ({count}): they count as missing."
            for name, count in far.items()
            if count
        ]
        self._become([rule for rule in rules.values() if rule], [*self.drop, *names], [*found], remarks)
        self.check_width()
        return self

    def _become(
        self, columns: Iterable[Column], left_out: Iterable[str], seen: Sequence[str], remarks: Iterable[str] = ()
    ) -> None:
        self.columns_, self.left_out_, self.remarks_ = tuple(columns), tuple(left_out), tuple(remarks)
        self.feature_names_in_ = np.array(seen, dtype=object)
        self.n_features_in_ = len(seen)

    def check_width(self) -> None:
        """Refuse more encoded columns than fit into memory, with the column to leave out first."""
        if len(self.names) > MOST_COLUMNS:
            widest = max(self.columns_, key=lambda column: len(column.names))
            raise UserError(
                f"the columns become {len(self.names)} numbers a row, and {MOST_COLUMNS} is the most: leave some out, "
                f"such as {widest.name!r}, which becomes {len(widest.names)} (--drop {widest.name})."
            )

    @property
    def names(self) -> list[str]:
        """The names of all encoded columns, the inputs of the network."""
        return [name for column in self.columns_ for name in column.names]

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that are needed."""
        return tuple(column.name for column in self.columns_)

    @property
    def text(self) -> tuple[str, ...]:
        """The columns that are spelt in a CSV file: words and dates."""
        return tuple(column.name for column in self.columns_ if column.kind != "numbers")

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers."""
        return tuple(column.name for column in self.columns_ if column.kind == "numbers")

    @property
    def unscaled(self) -> NDArray[np.bool_]:
        """Which encoded columns have a scale of their own: the parts of dates."""
        return np.array([column.kind == "date" for column in self.columns_ for _ in column.names], dtype=bool)

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Which encoded columns move on with time: dates in years and their places in the year."""
        return np.array([moves for column in self.columns_ for moves in column.moving], dtype=bool)

    def extra_columns(self, names: Iterable[str]) -> list[str]:
        """Those among the names that are neither used nor left out on purpose."""
        return [name for name in names if name not in self.used and name not in self.left_out_]

    def encode(self, table: Any, unknown: Unknown) -> NDArray[np.float64]:
        """An Arrow table's rows as numbers, in the model's order of columns, whatever the table's."""
        check_policy(unknown)
        there = set(table.column_names)
        missing = [name for name in self.used if name not in there]
        if missing:
            raise UserError(f"the table lacks the column {missing[0]!r}, which the model was taught with.")
        return np.column_stack([column.encode(table[column.name], unknown) for column in self.columns_])

    def as_json(self) -> dict[str, Any]:
        """Plain values, which `from_json` reads back."""
        return {
            "unknown": self.unknown,
            "drop": list(self.drop),
            "columns": [asdict(column) for column in self.columns_],
            "left_out": list(self.left_out_),
            "seen": self.feature_names_in_.tolist(),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "TableEncoder":
        """From what `as_json` gave; JSON has lists for tuples."""
        columns = [Column(**column) for column in values["columns"]]
        for column in columns:
            check_fields(column)
        drop, left_out, seen = (checked(name, values[name], tuple[str, ...]) for name in ("drop", "left_out", "seen"))
        encoder = cls(unknown=check_policy(values["unknown"]), drop=drop)
        encoder._become(columns, left_out, seen)
        return encoder

    @classmethod
    def of_numbers(cls, means: Sequence[float]) -> "TableEncoder":
        """For a model that was taught with arrays: columns x0, x1, ..., as an NPZ file has them."""
        encoder = cls()
        columns = [Column(f"x{number}", mean=mean) for number, mean in enumerate(means)]
        encoder._become(columns, (), [column.name for column in columns])
        return encoder

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "columns_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def check_policy(value: Any) -> Unknown:
    """A known way to treat unknown words."""
    if value not in POLICIES:
        raise unknown("unknown", str(value), POLICIES)
    return value


def listed(names: Sequence[str]) -> str:
    """A few names, and how many more."""
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
