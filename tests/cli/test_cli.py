import json
import os
import subprocess
import sys

import pytest

from hibnn.cli.main import main
from hibnn.errors import UserError

RUN = ["run", "--dataset", "split-digits", "--scenario", "class", "--method", "finetune", "--epochs", "1", "--quiet"]
KEYS = {
    *(
        "method",
        "dataset",
        "scenario",
        "granularity",
        "seed",
        "acc",
        "accuracy_matrix",
        "task_inference_accuracy",
        "bwt",
    ),
    *("forgetting", "ece", "nll", "active_units", "parameters", "seconds"),
}


def call(capsys, *words):
    with pytest.raises(SystemExit) as exit_code:
        main(words)
    captured = capsys.readouterr()
    return exit_code.value.code, captured.out, captured.err


def test_run_writes_a_result_with_every_promised_key(capsys, tmp_path):
    code, out, _ = call(capsys, *RUN, "--out", str(tmp_path), "--json")
    result = json.loads((tmp_path / "result.json").read_text())
    assert code == 0
    assert json.loads(out) == result
    assert set(result) >= KEYS
    assert 0 <= result["acc"] <= 1
    assert result["active_units"] is None
    assert len(result["accuracy_matrix"]) == 5


def test_several_seeds_go_to_a_folder_each(capsys, tmp_path):
    code, _, _ = call(capsys, *RUN, "--seeds", "0", "1", "--out", str(tmp_path))
    results = [json.loads((tmp_path / f"seed-{seed}" / "result.json").read_text()) for seed in (0, 1)]
    assert code == 0
    assert [result["seed"] for result in results] == [0, 1]
    assert results[0]["acc"] != results[1]["acc"]


def test_a_finished_run_is_read_and_another_one_is_not_overwritten(capsys, tmp_path):
    for _ in range(2):
        code, _, _ = call(capsys, *RUN, "--out", str(tmp_path))
        assert code == 0
    first = (tmp_path / "result.json").stat().st_mtime_ns
    code, _, err = call(capsys, *RUN, "--seed", "1", "--out", str(tmp_path))
    assert code == 2
    assert "another experiment" in err
    assert (tmp_path / "result.json").stat().st_mtime_ns == first


def changed(flag, value):
    words = list(RUN)
    words[words.index(flag) + 1] = value
    return words


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (changed("--method", "finetun"), "did you mean 'finetune'"),
        (changed("--dataset", "split-digit"), "did you mean 'split-digits'"),
        (changed("--scenario", "classes"), "did you mean 'class'"),
        (changed("--epochs", "-3"), "epochs must be positive"),
        ([*RUN, "--alpha", "3"], "finetune has no option '--alpha'; its options are"),
        ([*RUN, "--granularity", "batch:0"], "unknown granularity"),
        ([*RUN, "--ood", "mnist"], "same size"),
        ([*RUN, "--seed", "-1"], "negative"),
        ([*RUN, "--threads", "0"], "--threads must be at least 1, not 0"),
        (["evaluate", "x", "--scenario", "task", "--threads", "0"], "--threads must be at least 1, not 0"),
        (["prune", "x", "--threads", "-1"], "--threads must be at least 1, not -1"),
        (["bench", "--threads", "0"], "--threads must be at least 1, not 0"),
        (["bench", "--rounds", "0"], "--rounds must be at least 1, not 0"),
        (["search", "x.toml", "--workers", "0"], "--workers must be at least 1, not 0"),
        (["bench", "--rounds", "x"], "error parsing --rounds: invalid literal for int() with base 10: 'x'; 'hibnn b"),
        (["bench", "--nope"], "unrecognized options: --nope; 'hibnn bench --help' lists what can be said."),
        (["predict", "x"], "missing from hibnn predict: --model PATH, -o PATH, --out PATH; 'hibnn predict --help'"),
        (["search", "x", "--sampler", "y"], "Expected one of ('random', 'tpe'); 'hibnn search --help'"),
        (["data", "x"], "unrecognized options: x; 'hibnn data --help'"),
        ([*RUN, "--device", "x"], "invalid choice 'x' for argument '--device'"),
        (["rum"], "did you mean 'run'"),
        (["run", "--method", "joint"], "--dataset is missing"),
    ],
)
def test_what_the_user_can_put_right_is_one_sentence_with_exit_code_2(capsys, tmp_path, words, hint):
    folder = tmp_path / "out"
    words = [*words, "--out", str(folder)] if words[0] == "run" else words
    code, out, err = call(capsys, *words)
    assert code == 2
    assert hint in err
    assert len(err.strip().splitlines()) == 1
    assert not folder.exists()
    assert not out


def process(words, **variables):
    environment = {**os.environ, "COLUMNS": "70", **variables}
    return subprocess.run([sys.executable, "-m", "hibnn", *words], env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("utf-8", marks=pytest.mark.slow)])
def test_a_wrong_word_is_one_sentence_in_any_terminal(encoding):
    ended = process(["predict", "x"], PYTHONIOENCODING=encoding)
    assert ended.returncode == 2
    assert ended.stderr.startswith("hibnn: missing from hibnn predict: --model PATH, -o PATH, --out PATH; ")
    assert ended.stderr.count("\n") == 1


def test_a_terminal_that_knows_ascii_alone_shows_other_signs_by_their_numbers(tmp_path):
    (tmp_path / "own.py").write_text("print('3 ± 1')", encoding="utf-8")
    ended = process(["--plugin", str(tmp_path / "own.py"), "--version"], PYTHONIOENCODING="ascii", LC_ALL="C")
    assert ended.stdout == "3 \\xb1 1\n"
    assert "registers nothing" in ended.stderr


@pytest.mark.parametrize("words", [pytest.param(["methods"], marks=pytest.mark.slow), ["--help"]])
def test_a_reader_that_goes_away_ends_the_command_quietly(words):
    command = [sys.executable, "-m", "hibnn", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        started.stdout.close()
        assert started.stderr.read() == b""
    assert started.returncode == 141


def test_a_folder_that_cannot_be_written_is_refused_before_training(capsys, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    code, _, err = call(capsys, *RUN, "--out", str(blocker / "below"))
    assert code == 2
    assert "choose another place" in err
    assert os.listdir(tmp_path) == ["file"]


def test_a_traceback_appears_only_with_debug(capsys):
    assert "Traceback" not in call(capsys, *changed("--method", "x"))[2]
    assert "Traceback" in call(capsys, *changed("--method", "x"), "--debug")[2]


def test_permutations_are_stored_with_the_run(capsys, tmp_path):
    import numpy as np

    words = ["run", "--dataset", "permuted-mnist", "--scenario", "domain", "--method", "finetune", "--tasks", "1"]
    call(capsys, *words, "--epochs", "1", "--width", "5", "--batch-size", "1000", "--out", str(tmp_path), "--quiet")
    assert np.load(tmp_path / "permutations.npy", allow_pickle=False).shape == (1, 784)


ENDS = [
    (UserError("two\nlines."), 2, "hibnn: two lines."),
    (MemoryError(), 2, "hibnn: there is not enough memory for this"),
    (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 2, "hibnn: there is not enough memory for this"),
    (OSError(36, "File name too long", "x" * 9), 2, "hibnn: xxxxxxxxx cannot be used (File name too long)"),
    (UserError("x" * 10**6), 2, "hibnn: xxx"),
    (RuntimeError("ours"), 1, "hibnn: internal error, RuntimeError: ours"),
]


@pytest.mark.parametrize(("error", "code", "sentence"), ENDS)
def test_whatever_goes_wrong_is_one_line_of_bounded_length(error, code, sentence, capsys, monkeypatch):
    def fail(words):
        raise error

    monkeypatch.setattr("hibnn.cli.main.dispatch", fail)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == code
    said = capsys.readouterr().err
    assert said.startswith(sentence)
    assert said.count("\n") == 1
    assert len(said) < 2100


def test_a_run_without_any_word_is_told_what_is_missing(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["run"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("hibnn: --dataset is missing")
