"""Dates as numbers: words in one of several formats, or Arrow's own types, become days since 1970-01-01.

    t  ->  (t - mean) / YEAR  (linear),   sin and cos of 2 pi t / period  for the year, the week and the day (cyclic)

The linear part is in years, not in deviations of the first file: a month of data would make the next year hundreds of
deviations away. Nothing here needs a calendar, so that an ONNX graph can compute the same from days. `learning` finds
the format of a column of words, `columns` encodes with it. `MOVING` parts are new in every month: densities of inputs,
which say what is out of distribution, leave them out (`hibnn.tasks.density.transform`).
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hibnn.errors import UserError

YEAR = 365.2425
PERIODS = {"year": YEAR, "week": 7.0, "day": 1.0}
Part = Literal["linear", "year", "week", "day"]
MOVING: tuple[Part, ...] = ("linear", "year")
DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y")
SHORT = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y")
TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
FORMATS = (*(f"{day}{time}" for day in (*DAYS, *SHORT) for time in ("", *(f" {time}" for time in TIMES))), "%Y-%m")
FORMATS += TIMES
"""Day before month where both would do; a sentence says so."""
PLAIN = tuple(form for form in FORMATS if not form.startswith(("%d/", "%m/")) and form not in TIMES)
"""Formats that can be read in one way only."""
EARLIEST, LATEST = -250_000, 500_000
"""Days from 1285 to 3338: others are codes such as 9999-12-31 for an open end, and missing in a column of dates."""
MICROSECONDS = 86_400_000_000


def spelt_days(words: Any, form: str) -> NDArray[np.float64] | None:
    """Days since 1970-01-01 (NaN for a missing word) if all words are usual dates of this format, otherwise None."""
    days, right = _parsed(words, form)
    return days if (right & ~_far_off(days)).all() else None


def days_of(values: Any, formats: tuple[str, ...], name: str, lenient: bool) -> NDArray[np.float64]:
    """A column as days, in the column's own formats or plain ones; other words are refused, or missing if `lenient`."""
    from pyarrow import types

    if types.is_temporal(values.type) and not types.is_duration(values.type):
        return temporal_days(values, name)
    days = np.full(len(values), np.nan)
    wrong = np.asarray(values.is_valid())
    for form in (*formats, *PLAIN):
        if not wrong.any():
            break
        parsed, right = _parsed(values, form)
        taken = wrong & right
        days[taken] = parsed[taken]
        wrong &= ~right
    days[_far_off(days)] = np.nan
    if wrong.any() and not lenient:
        word = values[int(wrong.argmax())].as_py()
        raise UserError(
            f"column {name!r} held dates before and holds {word!r} now: correct it, or leave the cell empty."
        )
    return days


def temporal_days(values: Any, name: str) -> NDArray[np.float64]:
    """Arrow's dates, times and time stamps as days, NaN for those that are missing or far off.

    A time stamp with a zone counts as the time on its own clock.
    """
    import pyarrow
    from pyarrow import compute, types

    try:
        if types.is_timestamp(values.type) and values.type.tz is not None:
            values = compute.call_function("local_timestamp", [values])
        plain = pyarrow.time64("us") if types.is_time(values.type) else pyarrow.timestamp("us")
        whole = values.cast(plain, safe=False).cast(pyarrow.int64())
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise UserError(f"the dates of column {name!r} cannot be read ({str(error).splitlines()[0]}).") from None
    days = as_floats(whole) / MICROSECONDS
    days[_far_off(days)] = np.nan
    return days


def count_far_off(values: Any, name: str) -> int:
    """How many dates of an Arrow type are there and count as missing; `encoding` says so of a first table."""
    from pyarrow import types

    if not types.is_temporal(values.type) or types.is_duration(values.type):
        return 0
    return int(np.isnan(temporal_days(values, name)).sum()) - values.null_count


def parts_of(days: NDArray[np.float64], parts: tuple[Part, ...], mean: float) -> list[NDArray[np.float64]]:
    """The numbers that stand for dates; a missing date is in the middle of all of them."""
    missing = np.isnan(days)
    columns = []
    for part in parts:
        if part == "linear":
            columns.append(np.where(missing, 0.0, (days - mean) / YEAR))
        else:
            angle = 2 * np.pi * np.where(missing, 0.0, days) / PERIODS[part]
            columns += [np.where(missing, 0.0, np.sin(angle)), np.where(missing, 0.0, np.cos(angle))]
    return columns


def part_names(name: str, parts: tuple[Part, ...]) -> list[str]:
    """Their names."""
    names = [
        [f"{name} in years"] if part == "linear" else [f"{name} {part} sin", f"{name} {part} cos"] for part in parts
    ]
    return [own for group in names for own in group]


def as_floats(values: Any) -> NDArray[np.float64]:
    """An Arrow column of numbers, NaN where it has no value."""
    import pyarrow

    return values.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)


def _parsed(words: Any, form: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Days, and where a word is a date of this format or missing; a year of two digits is not one of four."""
    import pyarrow
    from pyarrow import compute

    options = compute.StrptimeOptions(form, "s", error_is_null=True)
    plain_words = _normalised(words)
    seconds = compute.call_function("strptime", [plain_words], options).cast(pyarrow.int64())
    days = as_floats(seconds) / 86_400
    if form in TIMES:
        days %= 1.0
    elif "%Y" in form:
        long = compute.call_function("match_substring_regex", [plain_words], compute.MatchSubstringOptions(r"\d{4}"))
        days[~np.asarray(long.fill_null(False))] = np.nan
    return days, ~np.isnan(days) | ~np.asarray(words.is_valid())


def _far_off(days: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (days < EARLIEST) | (days > LATEST)


def _normalised(words: Any) -> Any:
    """Words without a T before the time, fractions of a second, or a zone."""
    import pyarrow
    from pyarrow import compute

    words = words.cast(pyarrow.string())
    for pattern, replacement in ((r"^(\d{4}-\d\d-\d\d)T", r"\1 "), (r"(:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?$", r"\1")):
        options = compute.ReplaceSubstringOptions(pattern, replacement)
        words = compute.call_function("replace_substring_regex", [words], options)
    return compute.call_function("utf8_trim_whitespace", [words])
