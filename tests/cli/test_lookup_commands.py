import csv
import io
import json
import shutil
import subprocess
import sys

import pytest

from fabricated import rewrite
from folders import write_run
from hibnn.cli.main import main
from hibnn.runs.curves import series, sparkline
from hibnn.runs.record import read_record


@pytest.fixture
def root(tmp_path):
    """Six seeds of a method at two widths, five of another, one that failed."""
    for seed in range(6):
        for width, acc in ((50, 0.80), (100, 0.90)):
            write_run(tmp_path / f"finetune-{width}-s{seed}", acc + seed / 1000, seed=seed, width=width)
    for seed in range(5):
        write_run(tmp_path / f"joint-s{seed}", 0.95, seed=seed, method="joint")
    write_run(tmp_path / "joint-s5", status={"status": "failed", "message": "no luck"}, seed=5, method="joint")
    return tmp_path


def call(capsys, root, *words, code=0):
    with pytest.raises(SystemExit) as exit_code:
        main([*words, "--root", str(root)])
    captured = capsys.readouterr()
    assert exit_code.value.code == code, captured.err
    return captured.out if code == 0 else captured.err


def test_runs_are_grouped_over_seeds_with_mean_and_standard_error(capsys, root):
    rows = json.loads(call(capsys, root, "runs", "--json"))
    assert [(row["method"], row["changed"], row["seeds"]) for row in rows] == [
        ("finetune", "", 6), ("finetune", "width=50", 6), ("joint", "", 5),
    ]  # fmt: skip
    assert rows[0]["acc"] == pytest.approx(0.9025)
    assert rows[0]["standard_error"] == pytest.approx((0.0175 / 5 / 6) ** 0.5 / 1000**0.5)
    assert rows[2]["status"] == "5 done, 1 failed"


def test_the_table_names_what_is_not_done_and_why(capsys, root):
    out = call(capsys, root, "runs")
    assert "90.25 ± 0.08" in out
    assert "joint-s5: failed, no luck." in out


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (("method=joint",), 6), (("joint",), 6), (("width=50",), 6), (("width=50,100", "seed=0"), 3),
        (("status=failed",), 1), (("finetune", "s3"), 2), (("nothing",), 0), (("acc=0.95",), 5),
    ],
)  # fmt: skip
def test_filters_choose_runs(capsys, root, filters, count):
    rows = list(csv.DictReader(io.StringIO(call(capsys, root, "runs", *filters, "--each", "--csv"))))
    assert len(rows) == count


def test_an_unknown_name_in_a_filter_is_refused_with_the_nearest(capsys, root):
    assert "did you mean 'method'" in call(capsys, root, "runs", "metod=ibnn", code=2)
    assert "unknown metric" in call(capsys, root, "runs", "--metric", "accuracy", code=2)


def test_an_empty_folder_gives_one_sentence(capsys, tmp_path):
    assert call(capsys, tmp_path, "runs") == f"there are no runs in {tmp_path}.\n"
    assert "no folder" in call(capsys, tmp_path / "nothing", "runs", code=2)


def test_compare_pairs_seeds_and_says_when_one_decides_nothing(capsys, root):
    out = call(capsys, root, "compare", "finetune width=50", "finetune width=100")
    assert "finetune width=50 is 10.00 points below finetune width=100 over 6 shared seeds" in out
    assert "significant, p = " in out
    assert "(paired t-test)" in out
    write_run(root / "lonely", 0.5, seed=0, width=10)
    assert "one seed decides nothing" in call(capsys, root, "compare", "finetune width=10", "joint")


def test_compare_refuses_what_is_ambiguous_or_not_there(capsys, root):
    assert "several settings" in call(capsys, root, "compare", "finetune", "joint", code=2)
    assert "in common" in call(capsys, root, "compare", "ibnn", "joint", code=2)


def test_show_prints_settings_state_accuracies_and_curves(capsys, root):
    lines = [json.dumps({"task": 0, "epoch": epoch, "nll": 1 / (epoch + 1)}) for epoch in range(4)]
    (root / "joint-s0" / "metrics.jsonl").write_text("\n".join(lines) + '\n{"task": 0, "ep')
    (root / "joint-s0" / "env.json").write_text('{"python": "3.11"}')
    out = call(capsys, root, "show", "joint-s0")
    for part in ("done", "joint", "python 3.11", "after task", "95.0", "█▃▂▁", "1 → 0.25"):
        assert part in out
    failed = call(capsys, root, "show", "joint-s5")
    assert "failed, no luck" in failed
    assert "after task" not in failed
    assert json.loads(call(capsys, root, "show", "joint-s5", "--json"))["status"]["message"] == "no luck"


def test_show_wants_one_run(capsys, root):
    assert "stands for 6 runs" in call(capsys, root, "show", "joint", code=2)
    assert "no run" in call(capsys, root, "show", "nothing", code=2)


def test_a_sparkline_spans_lowest_to_highest_and_leaves_gaps():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([1.0, None, 2.0]) == "▁ █"
    assert len(sparkline(list(range(1000)))) == 48
    assert sparkline([]) == ""
    assert series([{"task": 1, "epoch": 0, "nll": 2.0, "name": "x"}]) == {"nll": [2.0]}


def test_metrics_that_are_not_there_have_no_curves(tmp_path):
    assert read_record(write_run(tmp_path)).metrics == []


@pytest.mark.parametrize(
    "words", [("runs",), ("runs", "--each", "width=50"), ("show", "joint-s0"), ("compare", "joint", "joint")]
)
def test_looking_up_runs_does_not_import_torch(root, words):
    program = (
        "import sys; from hibnn.cli.main import dispatch; dispatch(sys.argv[1:]); sys.exit('torch' in sys.modules)"
    )
    words = [sys.executable, "-c", program, *words, "--root", str(root)]
    found = subprocess.run(words, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_density_and_entropy_runs_are_rows_of_their_own_and_can_be_filtered(capsys, tmp_path):
    for inference in ("density", "entropy"):
        for stamps in ("auto", "hard"):
            changes = {"method": "ibnn", "scenario": "class", "task_inference": inference, "timestamps": stamps}
            write_run(tmp_path / f"{inference}-{stamps}", 0.9, **changes)
    rows = json.loads(call(capsys, tmp_path, "runs", "--json"))
    assert [(row["changed"], row["seeds"]) for row in rows] == [
        ("", 1), ("task_inference=entropy", 1), ("task_inference=entropy timestamps=hard", 1), ("timestamps=hard", 1),
    ]  # fmt: skip
    assert len(json.loads(call(capsys, tmp_path, "runs", "task_inference=density", "--json"))) == 2
    assert len(json.loads(call(capsys, tmp_path, "runs", "density", "timestamps=hard", "--json"))) == 1


def test_runs_that_stored_no_changes_are_told_apart_by_what_they_differ_in(capsys, root):
    for folder in root.glob("finetune-*"):
        rewrite(folder, "config.json", changed=None)
    rows = json.loads(call(capsys, root, "runs", "finetune", "--json"))
    assert [(row["changed"], row["seeds"]) for row in rows] == [("width 100", 6), ("width 50", 6)]


def test_a_damaged_run_costs_its_own_row_only_and_a_seed_stored_twice_counts_once(capsys, root):
    (root / "joint-s0" / "result.json").write_text("{")
    shutil.copytree(root / "joint-s1", root / "copy")
    (row,) = json.loads(call(capsys, root, "runs", "joint", "--json"))
    assert (row["seeds"], row["status"]) == (4, "4 done, 1 damaged, 1 failed")
