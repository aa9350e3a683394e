import pytest

from hibnn.errors import UserError
from hibnn.sizes import format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("text", "count"),
    [("784B", 784), ("2MB", 2_000_000), ("1.5 MiB", 1_572_864), ("500kb", 500_000), (" 1 GB ", 10**9)],
)
def test_sizes_are_read_as_people_write_them(text, count):
    assert parse_bytes("memory", text) == count


@pytest.mark.parametrize("text", ["", "2", "MB", "2 M", "-2MB", "1e3B", "2MB2"])
def test_what_is_no_size_is_refused_in_a_sentence(text):
    with pytest.raises(UserError, match="memory is a size such as 500kB"):
        parse_bytes("memory", text)


def test_sizes_are_written_in_three_figures():
    assert [format_bytes(count) for count in (0, 784, 8_550_000, 63_832)] == ["0 B", "784 B", "8.55 MB", "63.8 kB"]
