import json
import os
import signal
import tomllib
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import pytest

from hibnn import UserError
from hibnn.cli.main import main
from hibnn.learners.presets import options_for
from hibnn.sweeps import engines
from hibnn.sweeps import search as module
from hibnn.sweeps.search import JOURNAL, Reporter, open_study, search
from hibnn.sweeps.space import Problem, Range, read_problem
from processes import metrics, wait_for

TEXT = """
seeds = [100, 101]
[fixed]
method = "finetune"
dataset = "split-digits"
scenario = "task"
tasks = 2
epochs = 1
[space]
width = [5, 10, 20]
batch_size = { low = 16, high = 64 }
learning_rate = { low = 1e-4, high = 1e-1, log = true }
"""


@pytest.fixture
def problem(tmp_path):
    (tmp_path / "digits.toml").write_text(TEXT)
    return read_problem(tmp_path / "digits.toml")


@pytest.fixture
def instant(monkeypatch):
    """Runs that take no time: the wider, the better. Returns the experiments that were run."""
    seen = []

    def run(experiment, folder, after_task=None):
        seen.append(experiment)
        return {"acc": experiment.options.width / 100}

    monkeypatch.setattr(module, "run", run)
    return seen


def find(problem, trials, out, **options):
    with ThreadPoolExecutor(1) as executor:
        return search(problem, trials, out, executor, **options)


def choices(out, problem):
    return [trial.params for trial in open_study(out, problem).trials]


@pytest.mark.usefixtures("instant")
def test_every_trial_lies_in_the_space_and_the_best_is_returned(problem, tmp_path):
    best = find(problem, 30, tmp_path / "out")
    for chosen in choices(tmp_path / "out", problem):
        assert chosen["width"] in (5, 10, 20)
        assert isinstance(chosen["batch_size"], int)
        assert 16 <= chosen["batch_size"] <= 64
        assert 1e-4 <= chosen["learning_rate"] <= 1e-1
    assert best.params["width"] == 20


def test_trials_are_judged_on_validation_data_and_one_seed(problem, tmp_path, instant):
    find(problem, 3, tmp_path / "out")
    assert {(one.evaluate_on, one.seed) for one in instant} == {("validation", 0)}


@pytest.mark.usefixtures("instant")
def test_a_search_in_two_goes_proposes_what_one_in_a_single_go_does(problem, tmp_path):
    find(problem, 6, tmp_path / "whole")
    find(problem, 2, tmp_path / "parts")
    find(problem, 6, tmp_path / "parts")
    assert choices(tmp_path / "parts", problem) == choices(tmp_path / "whole", problem)
    assert len({str(chosen) for chosen in choices(tmp_path / "whole", problem)}) == 6


def test_a_trial_that_was_running_when_the_search_was_killed_is_taken_up(problem, tmp_path, instant, monkeypatch):
    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "run_trial", killed)
        with pytest.raises(KeyboardInterrupt):
            find(problem, 2, tmp_path)
    with (tmp_path / JOURNAL).open("a") as journal:
        journal.write('{"op_code": 4, "cut sho')
    find(problem, 2, tmp_path)
    assert len(instant) == 2
    assert [trial.state.name for trial in open_study(tmp_path, problem).trials] == ["COMPLETE"] * 2


def test_a_trial_that_fails_is_entered_with_its_reason_and_counts(problem, tmp_path, monkeypatch):
    def fail(experiment, folder, after_task=None):
        raise UserError("the objective became non-finite")

    monkeypatch.setattr(module, "run", fail)
    with pytest.raises(UserError, match="no trial has finished"):
        find(problem, 2, tmp_path)
    assert [trial.state.name for trial in open_study(tmp_path, problem).trials] == ["FAIL"] * 2


def test_a_trial_whose_worker_died_is_tried_again_and_can_be_the_best(problem, tmp_path, monkeypatch):
    def die_at_first(experiment, out, number, prune):
        tried.append(number)
        if number == 1 and tried.count(1) < 3:
            raise BrokenExecutor
        return (0.9 if number == 1 else 0.1), False, None

    tried = []
    monkeypatch.setattr(module, "run_trial", die_at_first)
    assert find(problem, 3, tmp_path, workers=2).number == 1
    assert sorted(tried) == [0, 1, 1, 1, 2]


@pytest.mark.slow
def test_a_trial_of_a_killed_process_goes_on_from_its_checkpoint(problem, tmp_path):
    def kill_at_checkpoint():
        wait_for(lambda: list(tmp_path.glob("trials/*/checkpoint.previous.safetensors")))
        (folder,) = (tmp_path / "trials").iterdir()
        first.append(metrics(folder)[0])
        os.kill(json.loads((folder / "status.json").read_text())["pid"], signal.SIGKILL)

    first = []
    problem.fixed.update(epochs=60, tasks=3)
    killer = Thread(target=kill_at_checkpoint)
    killer.start()
    with engines.engine("local", 1, None) as (executor, _):
        best = search(problem, 1, tmp_path, executor)
    killer.join()
    (folder,) = (tmp_path / "trials").iterdir()
    assert best.value == json.loads((folder / "result.json").read_text())["acc"]
    assert metrics(folder)[0] == first[0]  # its seconds, too: it was not learned again


def test_a_trial_whose_workers_die_again_and_again_is_entered_as_failed(problem, tmp_path, monkeypatch):
    def die(*arguments):
        raise BrokenExecutor

    monkeypatch.setattr(module, "run_trial", die)
    with pytest.raises(UserError, match="its worker died 4 times"):
        find(problem, 1, tmp_path)


@pytest.mark.usefixtures("instant")
def test_a_folder_with_another_search_is_refused(problem, tmp_path):
    find(problem, 1, tmp_path)
    with pytest.raises(UserError, match="another sampler"):
        find(problem, 1, tmp_path, sampler="tpe")
    problem.space["width"] = [5]
    with pytest.raises(UserError, match="another problem"):
        find(problem, 1, tmp_path)


@pytest.mark.usefixtures("instant")
def test_the_journal_is_json_and_nothing_else_is_stored(problem, tmp_path):
    find(problem, 2, tmp_path, sampler="tpe")
    assert {path.name for path in tmp_path.iterdir()} - {"lock", "digits.toml"} == {JOURNAL}
    assert all(json.loads(line) for line in (tmp_path / JOURNAL).read_text().splitlines())


def test_tpe_gives_up_a_trial_below_the_median_of_earlier_ones(problem, tmp_path, monkeypatch):
    def run(experiment, folder, after_task):
        value = 0.9 if len(finished) < 5 else 0.1
        for task in range(2):
            after_task(task, [value] * 2)
        finished.append(value)
        return {"acc": value}

    finished = []
    monkeypatch.setattr(module, "run", run)
    find(problem, 7, tmp_path, sampler="tpe")
    states = [trial.state.name for trial in open_study(tmp_path, problem, "tpe").trials]
    assert states == ["COMPLETE"] * 5 + ["PRUNED"] * 2
    assert finished == [0.9] * 5


@pytest.mark.usefixtures("instant")
def test_a_trial_taken_up_reports_a_task_once(problem, tmp_path):
    find(problem, 5, tmp_path, sampler="tpe")
    study = open_study(tmp_path, problem, "tpe")
    trial = study.ask()
    for value in (0.5, 0.7):
        reporter = Reporter(tmp_path, trial.number)
        reporter(1, [value, value])
    assert open_study(tmp_path, problem, "tpe").trials[-1].intermediate_values == {1: 0.5}


def test_ranges_are_whole_where_both_ends_are(problem):
    assert problem.space["batch_size"] == Range(16, 64)
    assert problem.space["batch_size"].whole
    assert not problem.space["learning_rate"].whole


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("[5, 10, 20]", "[]", "width must be a list"),
        ("low = 1e-4", "low = 0", "above 0 if log"),
        ("low = 16", "low = 99", "low below high"),
        ("tasks = 2", 'evaluate_on = "test"', "validation data"),
        ("tasks = 2", "width = 3", "both fixes and searches width"),
        ("tasks = 2", "depth = [1, 2]", "fixes depth to a list"),
        ("tasks = 2", "alpha = 3", "unknown option of finetune 'alpha'"),
        ("width = ", "alpha = ", "unknown option of finetune 'alpha'"),
        ("[space]", "[spaces]", "'spaces' is neither"),
        ("[5, 10, 20]", "[5, 0]", "width must be positive"),
        ("[5, 10, 20]", "[5, 0, 20]", "width must be positive"),
        ("[5, 10, 20]", '[5, "ten", 20, 30, 40]', "width must be a whole number, not 'ten'"),
        ("low = 16", 'low = "a"', "batch_size must be a list"),
        ("log = true", 'log = "yes"', "learning_rate must be a list"),
        ("high = 1e-1", "high = inf", "learning_rate must be a list"),
        ("[space]", '[space]\nevaluate_on = ["test"]', "validation data"),
        ("[fixed]", "fixed = 3\n[spaces]", "must have a"),
        ("[100, 101]", "[100, -1]", "a seed must not be negative"),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused_before_anything_runs(tmp_path, old, new, hint):
    (tmp_path / "bad.toml").write_text(TEXT.replace(old, new))
    with pytest.raises(UserError, match=hint):
        read_problem(tmp_path / "bad.toml")


def test_a_middle_value_that_is_no_good_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "wide.toml").write_text(TEXT.replace("low = 16, high = 64", "low = 1, high = 2.5"))
    with pytest.raises(UserError, match="batch-size must be a whole number"):
        read_problem(tmp_path / "wide.toml")
    assert Range(1, 4).samples == [1, 2, 4]


def test_a_trial_that_was_being_proposed_when_the_search_was_killed_is_proposed_as_it_was(problem, tmp_path, instant):
    find(problem, 3, tmp_path / "whole")
    find(problem, 2, out := tmp_path / "killed")
    whole = (tmp_path / "whole" / JOURNAL).read_text().splitlines()
    begun = [number for number, line in enumerate(whole) if json.loads(line)["op_code"] == 4]  # a trial is created
    (out / JOURNAL).write_text("\n".join([*whole[: begun[2] + 2], ""]))  # with one of its values
    find(problem, 3, out)
    assert choices(out, problem) == choices(tmp_path / "whole", problem)


def test_a_search_does_not_wait_for_the_lock_of_a_dead_one(problem, tmp_path, instant, monkeypatch):
    monkeypatch.chdir(tmp_path)
    find(problem, 1, out := Path("out"))
    (out / f"{JOURNAL}.lock").symlink_to(out / JOURNAL)  # as optuna makes it, which leads nowhere
    find(problem, 2, out)
    assert len(instant) == 2


def among_heads(heads, inferences):
    """A problem in which a density may be asked to choose among the heads of a network that has one."""
    fixed = {"method": "finetune", "dataset": "split-digits", "scenario": "class", "tasks": 2}
    return Problem("heads", fixed, {"heads": heads, "task_inference": inferences})


def test_values_that_do_not_go_together_cost_a_search_their_trial_alone(instant, tmp_path):
    outcomes = []
    find(among_heads(["multi", "single"], ["density", "entropy"]), 8, tmp_path, on_done=outcomes.append)
    wrong = [one for one in outcomes if list(one.chosen.values()) == ["single", "density"]]
    assert (len(outcomes), len(instant)) == (8, 8 - len(wrong))
    assert wrong
    for one in wrong:
        assert one.accuracy is None
        assert "a density chooses among heads" in one.error


@pytest.mark.usefixtures("instant")
def test_a_search_without_a_single_trial_that_could_be_run_says_why_and_goes_on(tmp_path):
    problem, outcomes = among_heads(["single"], ["density"]), []
    next(module._proposals(open_study(tmp_path, problem), problem, "random", 1))  # as a process that died left it
    for trials in (1, 3):
        with pytest.raises(UserError, match=r"no trial has finished \(a density chooses .* density\)\.$"):
            find(problem, trials, tmp_path, on_done=outcomes.append)
    assert [one.number for one in outcomes] == [0, 1, 2]


@pytest.mark.usefixtures("instant")
@pytest.mark.parametrize("line", ["garbage", "{}", "3", '{"op_code": 99, "worker_id": "a"}'])
def test_a_damaged_journal_is_refused_in_a_sentence(problem, tmp_path, line):
    find(problem, 2, tmp_path)
    journal = tmp_path / JOURNAL
    first, *others = journal.read_text().splitlines()
    journal.write_text("\n".join([first, line, *others, ""]))
    with pytest.raises(UserError, match=r"study\.jsonl is damaged"):
        find(problem, 3, tmp_path)


def test_the_command_writes_the_best_setting_as_a_preset(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(engines, "Workers", ThreadPoolExecutor)
    (tmp_path / "digits.toml").write_text(TEXT)
    words = ["search", str(tmp_path / "digits.toml"), "--trials", "2", "--workers", "1", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as code:
        main(words)
    assert code.value.code == 0
    assert "2 fresh seeds" in capsys.readouterr().err
    preset = tmp_path / "out" / "best.toml"
    found = tomllib.loads(preset.read_text())["options"]
    options = options_for("finetune", "split-digits", str(preset))
    assert (options.width, options.learning_rate, options.epochs) == (found["width"], found["learning_rate"], 1)
    seeds = [json.loads(path.read_text()) for path in (tmp_path / "out" / "fresh").glob("*/result.json")]
    assert sorted((one["seed"], one["evaluated_on"]) for one in seeds) == [(100, "validation"), (101, "validation")]


def test_a_run_with_the_preset_of_a_search_is_the_best_trial_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(engines, "Workers", ThreadPoolExecutor)
    file, out, words = tmp_path / "digits.toml", tmp_path / "out", ["--trials", "1", "--workers", "1"]
    space = 'heads = ["multi"]\ntask_inference = ["density"]\ndensity_power = [2.0]\n'
    file.write_text(TEXT.split("[space]")[0].replace('"task"', '"class"') + f'mixing = "hard"\n[space]\n{space}')
    with pytest.raises(SystemExit):
        main(["search", str(file), *words, "--out", str(out)])
    (trial,) = [json.loads(path.read_text()) for path in (out / "trials").glob("*/config.json")]
    run = ["run", "--method", "finetune", "--dataset", "split-digits", "--scenario", "class", "--tasks", "2", "--quiet"]
    with pytest.raises(SystemExit):
        main([*run, "--preset", str(out / "best.toml"), "--evaluate-on", "validation", "--out", str(tmp_path / "run")])
    assert json.loads((tmp_path / "run" / "config.json").read_text())["experiment"] == trial["experiment"]
    assert "tasks" not in tomllib.loads((out / "best.toml").read_text())["protocol"]
