"""One bad run folder costs its own row only: whatever its files are, the run beside it is still shown."""

import json
import os
import random
import subprocess
import sys

import pytest

from fabricated import fabricate
from hibnn.cli.main import main
from hibnn.files import reading
from hibnn.report.gallery import draw_all
from hibnn.report.page.live import stamp
from hibnn.report.page.render import page_of
from hibnn.report.tables.comparison import comparison_table
from hibnn.report.tables.published import TABLES
from hibnn.runs.groups import group_by_setting
from hibnn.runs.index import records_below, results
from hibnn.runs.record import FILES
from hibnn.runs.status import Status

SPECIAL = [
    None,
    True,
    -1,
    0,
    1e999,
    10**400,
    -(10**19),
    1e308,
    "",
    "x",
    "\ud800",
    "\x1b[31m",
    "[/red]",
    [],
    [[]],
    {},
    [1],
]
SPECIAL += ["a" * 5000, {"a": {"b": [None]}}, [[1.0, 0.5], [1.0]], ["hidden", 3], 2**63, "../../../x", float("nan")]
DEEP = "[" * 100_000 + "]" * 100_000


def command(*words):
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    return ended.value.code


def assert_the_good_run_is_shown(root, capsys):
    """Read, group, the page, the tables, and what `hibnn runs` and `show` print."""
    rows = {row["run"]: row for row in results(root)}
    assert (rows["good"]["status"], rows["good"]["acc"]) == ("done", 0.875)
    records = records_below([root])
    assert "87.50" in page_of(records, [root])
    groups = group_by_setting([run for run in records if run.status is not Status.DAMAGED], read_outs=True)
    assert any("87.50" in str(comparison_table(name, groups)) for name in TABLES)
    stamp([root])
    for words in (["runs"], ["runs", "method=ibnn", "--each", "--csv"]):
        assert command(*words, "--root", root) == 0
        assert "0.875" in (said := capsys.readouterr().out) or "87.50" in said
    assert "bad" not in rows or command("show", root / "bad") == 0
    capsys.readouterr()


def mutant(content, chance):
    """One change to the text of a JSON file: of a value somewhere in it, or of its bytes."""
    kind = chance.choice(["value", "value", "value", "drop", "flip", "cut"])
    if kind == "cut":
        return content[: chance.randrange(len(content))]
    if kind == "flip":
        place = chance.randrange(len(content))
        return content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
    value = json.loads(content)
    places = list(_places(value))
    holder, key = chance.choice(places)
    if kind == "drop":
        del holder[key]
    else:
        holder[key] = chance.choice(SPECIAL)
    return json.dumps(value).encode()


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
def test_no_change_to_the_files_of_a_run_costs_another_its_row(tmp_path, capsys, seed):
    chance = random.Random(seed)
    fabricate(tmp_path / "good", 0.875, scenario="class")
    bad = fabricate(tmp_path / "bad", 0.5, "running", seed=1, scenario="class", hidden=(4, 5))
    (bad / "class-task.json").write_text(json.dumps({"scenario": "class", "granularity": "task", "acc": 0.7}))
    whole = {name: (bad / name).read_bytes() for name in FILES}
    for _ in range(20):
        name = chance.choice(["config.json", "config.json", "result.json", "result.json", "status.json"])
        (bad / name).write_bytes(mutant(whole[name], chance))
        if name == "status.json":
            (bad / "result.json").unlink()
        assert_the_good_run_is_shown(tmp_path, capsys)
        for file, content in whole.items():
            (bad / file).write_bytes(content)


def make_pipe(path):
    os.mkfifo(path)


def make_folder(path):
    path.mkdir()


def make_device(path):
    path.symlink_to("/dev/zero")


def make_dangling_link(path):
    path.symlink_to("nowhere")


def make_deep(path):
    path.write_text('{"method": ' + DEEP + "}")


def make_deep_enough_to_parse(path):
    path.write_text('{"method": ' + "[" * 900 + "]" * 900 + "}")


def make_endless_integer(path):
    path.write_text('{"acc": ' + "9" * 4000 + ', "status": ' + "9" * 4000 + ', "method": ' + "9" * 400 + "}")


def make_huge(path):
    path.touch()
    os.truncate(path, reading.LARGEST_FILE + 1)


MAKERS = [make_pipe, make_folder, make_device, make_dangling_link, make_deep, make_deep_enough_to_parse]


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and devices")
@pytest.mark.parametrize("make", [*MAKERS, make_endless_integer, make_huge])
@pytest.mark.parametrize("name", [*FILES, "metrics.jsonl", "env.json", "class-task.json"])
def test_what_is_no_file_of_a_run_costs_its_own_row_only(tmp_path, capsys, make, name):
    fabricate(tmp_path / "good", 0.875, scenario="class")
    bad = fabricate(
        tmp_path / "bad", None if name == "status.json" else 0.5, "running", seed=1, scenario="class", width=7
    )
    (bad / name).unlink(missing_ok=True)
    make(bad / name)
    assert_the_good_run_is_shown(tmp_path, capsys)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes")
@pytest.mark.parametrize("name", ["structure.safetensors", "predictions.safetensors", "pruning.json"])
def test_a_pipe_in_place_of_tensors_does_not_hang_the_figures(tmp_path, name):
    os.mkfifo(fabricate(tmp_path / "run", 0.875) / name)
    assert any(drawing.figure for drawing in draw_all(records_below([tmp_path])))


def test_runs_of_one_setting_with_different_numbers_of_tasks_do_not_cost_the_others_their_figures(tmp_path):
    for seed in range(3):
        fabricate(tmp_path / str(seed), 0.875, seed=seed)
    result = json.loads((tmp_path / "1" / "result.json").read_text())
    (tmp_path / "1" / "result.json").write_text(json.dumps(result | {"accuracy_matrix": [[1.0, None], [1.0, 1.0]]}))
    drawn = {drawing.name: drawing.figure for drawing in draw_all(records_below([tmp_path]))}
    assert drawn["task-accuracies-split-mnist-task"] is not None


def test_the_name_of_a_data_set_leads_no_figure_out_of_its_folder(tmp_path):
    bad = fabricate(tmp_path / "run", 0.875)
    config = json.loads((bad / "config.json").read_text())
    (bad / "config.json").write_text(json.dumps(config | {"dataset": "../../x"}))
    assert not any("/" in drawing.name for drawing in draw_all(records_below([tmp_path])))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs file names that are no text")
def test_names_that_are_no_text_are_shown_by_every_command(tmp_path):
    fabricate(tmp_path / "good", 0.875)
    foul = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")
    fabricate(tmp_path / "bad", None, "failed", seed=1).rename(foul)
    out = tmp_path / "out"
    for words in (["runs", "--each"], ["report", str(tmp_path), "-o", str(out / "page.html")], ["show", "good"]):
        root = [] if words[0] == "report" else ["--root", str(tmp_path)]
        done = subprocess.run([sys.executable, "-m", "hibnn", *words, *root], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("record", [[], 3, [1, 2, 3, 4, 5], [{}, None, "sleeping", "", ""]])
def test_an_index_with_records_that_are_none_is_made_again(tmp_path, record):
    fabricate(tmp_path / "good", 0.875)
    results(tmp_path)
    index = tmp_path / ".hibnn-index.jsonl"
    header, line = index.read_text().splitlines()
    index.write_text(header + "\n" + json.dumps(json.loads(line) | {"record": record}) + "\n")
    assert results(tmp_path)[0]["acc"] == 0.875
