"""Ways in which a file can be spoilt: bytes, values, sizes, and things of another kind in its place.

Each mutation takes a path and a source of chance, changes what is there, and returns a few words that name the change.
"""

import json
import os
import random
import tomllib
from pathlib import Path

import numpy as np
import pyarrow
import torch
from pyarrow import parquet
from safetensors import safe_open

from hibnn.files.container import ENTRY, write_container

PLAIN = [None, True, -1, 0, 1, 3.5, 1e308, 2**63, 10**400, -(10**19), float("nan"), float("inf"), "", "x", "0", "../x"]
HOSTILE = [*PLAIN, "\ud800", "\x1b[31m", "[/red]", "a" * 5000, [], [1], [[]], {}, {"a": {"b": [None]}}, ["x", 3]]
CELLS = ["", "nan", "-inf", "1e400", "x", '"', "'", "\x00", "\x1b[2J", "=1+1", "9" * 400, "é", "1,2", "NA", "true"]
MARKS = [b"\x00", b"\xff\xfe", b"\r", b"\n\n\n", b'"', b",", b"{", b"[" * 2000, b"#", b"=", b"'''", b"1e999"]
SPECIAL = ("fifo", "folder", "unreadable", "broken link", "circle", "device", "endless", "empty", "huge", "absent")


def bytes_of(path: Path, chance: random.Random) -> str:
    """Flip, cut, insert, repeat or replace bytes."""
    content = path.read_bytes()
    place = chance.randrange(len(content))
    kind = chance.choice(["flip", "flip", "cut", "mark", "double", "noise", "swap"])
    if kind == "flip":
        content = content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
    elif kind == "cut":
        content = content[:place]
    elif kind == "mark":
        content = content[:place] + chance.choice(MARKS) + content[place:]
    elif kind == "double":
        content += content
    elif kind == "noise":
        content = content[:place] + chance.randbytes(min(64, len(content) - place)) + content[place + 64 :]
    else:
        content = content[place:] + content[:place]
    path.write_bytes(content)
    return f"{kind} at {place}"


def special(path: Path, kind: str) -> str:
    """Something else in the place of a file."""
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "unreadable":
        path.touch()
        path.chmod(0)
    elif kind in ("empty", "huge"):
        path.touch()
        if kind == "huge":
            os.truncate(path, 1 << 40)
    elif kind != "absent":
        targets = {"broken link": "nowhere", "circle": path.name, "device": "/dev/null", "endless": "/dev/zero"}
        path.symlink_to(targets[kind])
    return kind


def json_value(path: Path, chance: random.Random) -> str:
    """Another value, or none, somewhere in a JSON file."""
    value = json.loads(path.read_text())
    changed, what = replaced(value, chance)
    path.write_text(json.dumps(changed))
    return what


def json_line(path: Path, chance: random.Random) -> str:
    """Another value in one line of a JSONL file."""
    lines = path.read_text().splitlines()
    place = chance.randrange(len(lines))
    changed, what = replaced(json.loads(lines[place]), chance)
    path.write_text("\n".join([*lines[:place], json.dumps(changed), *lines[place + 1 :]]) + "\n")
    return f"line {place}: {what}"


def toml_value(path: Path, chance: random.Random) -> str:
    """Another value somewhere in a TOML file, in a form that TOML has."""
    value = tomllib.loads(path.read_text())
    changed, what = replaced(value, chance)
    plain = {key: part for key, part in changed.items() if not _is_table(part)} if isinstance(changed, dict) else {}
    tables = {key: part for key, part in changed.items() if _is_table(part)} if isinstance(changed, dict) else {}
    text = "".join(f"{json.dumps(key)} = {_toml(part)}\n" for key, part in plain.items() if part is not None)
    for key, part in tables.items():
        for table in part if isinstance(part, list) else [part]:
            text += f"[[{json.dumps(key)}]]\n" if isinstance(part, list) else f"[{json.dumps(key)}]\n"
            pairs = table.items() if isinstance(table, dict) else ()
            text += "".join(f"{json.dumps(name)} = {_toml(own)}\n" for name, own in pairs if own is not None)
    path.write_text(text, errors="surrogatepass")
    return what


def csv_cell(path: Path, chance: random.Random) -> str:
    """Another cell, header or number of cells in a CSV file."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    kind = chance.choice(["cell", "cell", "column", "header", "drop", "twice", "short", "long"])
    row, column, cell = chance.randrange(len(rows)), chance.randrange(len(rows[0])), chance.choice(CELLS)
    if kind == "cell":
        rows[row][column] = cell
    elif kind == "column":
        for place in range(1, len(rows)):
            rows[place][column] = cell
    elif kind == "header":
        rows[0][column] = cell
    elif kind == "drop":
        rows = [line[:column] + line[column + 1 :] for line in rows]
    elif kind == "twice":
        rows = [[*line, line[column]] for line in rows]
    elif kind == "short":
        rows = rows[: chance.randrange(3)]
    else:
        rows[row] = rows[row] * 20
    path.write_text("\n".join(map(",".join, rows)) + "\n")
    return f"{kind} {row},{column} {cell[:20]!r}"


ARROW = [
    pyarrow.array([None] * 60),
    pyarrow.array([None] * 60, pyarrow.float64()),
    pyarrow.array([float("nan")] * 60),
    pyarrow.array([float("inf"), *range(59)]),
    pyarrow.array([b"x"] * 60),
    pyarrow.array([[1]] * 60),
    pyarrow.array([{"a": 1}] * 60),
    pyarrow.array([0] * 60, pyarrow.date32()),
    pyarrow.array([0] * 60, pyarrow.duration("s")),
    pyarrow.array([0] * 60, pyarrow.decimal128(5)),
    pyarrow.array([2**64 - 1] * 60, pyarrow.uint64()),
    pyarrow.array(["x", "y"] * 30).dictionary_encode(),
    pyarrow.array([True, False] * 30),
    pyarrow.array(map(str, range(60))),
    pyarrow.array([0.5] * 60, pyarrow.float32()),
    pyarrow.array([1e300, 0.0] * 30),
    pyarrow.array(["a" * 3000, "b"] * 30),
    pyarrow.array([np.float16(1)] * 60, pyarrow.float16()),
]


def parquet_column(path: Path, chance: random.Random) -> str:
    """A column of another type, another name, twice, or not at all; or no rows."""
    table = parquet.read_table(path)
    place, column = chance.randrange(table.num_columns), chance.choice(ARROW)
    kind = chance.choice(["type", "type", "type", "name", "drop", "twice", "none"])
    name = table.column_names[place]
    if kind == "type":
        table = table.set_column(place, name, column)
    elif kind == "name":
        table = table.set_column(place, chance.choice(["", "x" * 5000, "\x1b[31m", "é"]), table[place])
    elif kind == "drop":
        table = table.remove_column(place)
    elif kind == "twice":
        table = table.append_column(name, column)
    else:
        table = table.slice(0, 0)
    parquet.write_table(table, path)
    return f"{kind} {name} {column.type if kind in ('type', 'twice') else ''}"


def npz_array(path: Path, chance: random.Random) -> str:
    """An array of another type, shape or name."""
    with np.load(path) as file:
        arrays = dict(file)
    name = chance.choice(list(arrays))
    array = arrays[name]
    others = [array.astype("float16"), array.astype("complex128"), array.astype("S3"), array.astype("U9"), array[:0]]
    others += [np.array(1.0), array[..., None], array.astype("M8[s]"), array.T.copy(), array.astype(">f8")]
    others += [np.full_like(array, -1), np.full(array.shape, np.nan), np.full(array.shape, np.inf), array[:7]]
    others += [array.astype(object), np.zeros(array.shape, "V8"), np.zeros((60, 0)), np.full(array.shape, 1e300)]
    kind = chance.randrange(len(others) + 2)
    if kind < len(others):
        arrays[name] = others[kind]
    else:
        arrays = arrays | {"z": array} if kind == len(others) else {"z": array}
    np.savez(path, **arrays)
    return f"{name} {kind}"


def container_facts(path: Path, chance: random.Random) -> str:
    """Other metadata, or another tensor, under a valid checksum."""
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()[ENTRY])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    metadata = header.pop("metadata")
    kind = chance.choice(["metadata", "metadata", "metadata", "tensor", "header"])
    what = ""
    if kind == "metadata":
        changed, what = replaced(json.loads(metadata), chance)
        metadata = json.dumps(changed)
    elif kind == "header":
        changed, what = replaced(header, chance)
        header = changed if isinstance(changed, dict) else {}
    else:
        name = chance.choice(sorted(tensors))
        old = tensors.pop(name)
        others = [old.new_zeros(()), old.new_zeros(0), old.new_zeros(3, 5, 2), old.to(torch.int64), old.double()]
        others += [torch.full_like(old, -1), torch.full(old.shape, float("nan")), None]
        place = chance.randrange(len(others))
        tensors |= {} if others[place] is None else {name: others[place]}
        what = f"{name} {place}"
    write_container(path, header, metadata, tensors)
    return f"{kind} {what}"


def replaced(value, chance: random.Random):
    """The value with one part replaced or dropped, and words that say which."""
    places = list(_places(value))
    if not places or chance.random() < 0.03:
        new = chance.choice(HOSTILE)
        return new, f"all {_short(new)}"
    holder, key = chance.choice(places)
    if chance.random() < 0.2:
        del holder[key]
        return value, f"without {key}"
    if isinstance(holder, dict) and chance.random() < 0.1:
        holder[chance.choice(["", "x", "\x1b[31m", "__class__"])] = holder.pop(key)
        return value, f"renamed {key}"
    holder[key] = chance.choice(HOSTILE)
    return value, f"{key} {_short(holder[key])}"


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield value, key
        yield from _places(part)


def _short(value):
    return repr(value)[:30]


def _is_table(value):
    return isinstance(value, dict) or (isinstance(value, list) and value and all(isinstance(v, dict) for v in value))


def _toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(v) for v in value if v is not None) + "]"
    if isinstance(value, float) and value != value:
        return "nan"
    return "inf" if value == float("inf") else json.dumps(value)
