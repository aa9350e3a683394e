"""Streams and files."""

import math

import pytest
import torch

from hibnn.files.atomic import atomic_write, write_json
from hibnn.files.reading import read_object
from hibnn.streams import numpy_stream, stream_seed, torch_stream


def test_a_stream_depends_on_seed_and_name_alone():
    assert stream_seed(0, "order", 1, 2) == stream_seed(0, "order", 1, 2)
    assert len({stream_seed(0, "a"), stream_seed(1, "a"), stream_seed(0, "b"), stream_seed(0, "a", 0)}) == 4
    assert torch.equal(torch.rand(3, generator=torch_stream(5, "x")), torch.rand(3, generator=torch_stream(5, "x")))
    assert numpy_stream(5, "x").random() != numpy_stream(5, "y").random()


def test_a_file_that_could_not_be_written_leaves_the_old_one_and_no_scraps(tmp_path):
    path = tmp_path / "value.json"
    write_json(path, {"old": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"bad": math.nan})
    with pytest.raises(OSError, match="disk full"), atomic_write(path):
        raise OSError("disk full")
    assert read_object(path) == {"old": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["value.json"]
