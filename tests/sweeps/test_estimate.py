import pytest
import torch

from hibnn import Experiment, Scenario, benchmark, options_for
from hibnn.cli.commands.plan import duration
from hibnn.cli.main import main
from hibnn.sweeps import estimate as module
from hibnn.sweeps.estimate import Cost, estimate, measure, task_sizes, wall_clock


def experiment(method="finetune", dataset="split-digits", scenario="task", preset="default", options=None, **changes):
    kind = Scenario.parse(scenario)
    made = options_for(method, dataset, preset, kind, **(options or {}))
    return Experiment(method=method, dataset=dataset, scenario=kind, options=made, **changes)


@pytest.fixture
def one_second(monkeypatch):
    """Everything takes one second."""

    def seconds(action):
        action()
        return 1.0

    monkeypatch.setattr(module, "_seconds", seconds)


@pytest.mark.usefixtures("one_second")
def test_the_cost_is_epochs_times_examples_and_an_evaluation_a_task():
    made = experiment(tasks=2, options={"epochs": 4, "batch_size": 16})
    (size, _) = task_sizes(made)
    cost = measure(made)
    assert cost.training == pytest.approx(2 * size.train / 48 * (4 + 1))
    assert cost.evaluation == 2  # on all of so few test examples


@pytest.mark.usefixtures("one_second")
def test_of_many_test_examples_some_are_measured():
    made = experiment(dataset="split-mnist", tasks=2)
    tests = sum(size.test for size in task_sizes(made))
    assert measure(made).evaluation == pytest.approx(tests / module.TEST_EXAMPLES)


@pytest.mark.usefixtures("one_second")
@pytest.mark.parametrize(
    ("method", "options", "epochs"),
    [
        ("ibnn", {"epochs": 3, "likelihood_epochs": 5, "first_task_factor": 2.0}, 11 + 3),
        ("den", {"epochs": 3}, 3 + 4 * 3),
        ("bscl", {"epochs": 3, "retraining_epochs": 2}, 5 + 5),
        ("svd", {"epochs": 3, "likelihood_epochs": 2}, 5 + 5),
        ("joint", {"epochs": 3}, 3 + 3),
    ],
)
def test_every_epoch_of_every_phase_is_counted(method, options, epochs):
    made = experiment(method, tasks=2, options={"batch_size": 16, "width": 5, **options})
    size = task_sizes(made)[0]
    assert measure(made).training == pytest.approx((epochs + 2) * size.train / 48)


@pytest.mark.parametrize("evaluate_on", ["test", "validation"])
@pytest.mark.parametrize(("dataset", "tasks"), [("split-digits", None), ("split-mnist", 3), ("permuted-mnist", 2)])
def test_tasks_are_taken_to_be_about_as_large_as_they_are(dataset, tasks, evaluate_on):
    made = experiment(dataset=dataset, tasks=tasks, evaluate_on=evaluate_on)
    real = benchmark(dataset, Scenario.TASK, tasks=tasks, evaluate_on=evaluate_on)
    sizes = task_sizes(made)
    assert len(sizes) == len(real.tasks)
    assert {(size.inputs, size.classes) for size in sizes} == {(real.inputs, len(real.tasks[0].classes))}
    assert sum(size.train for size in sizes) == pytest.approx(sum(len(task.train) for task in real.tasks), rel=0.1)
    assert sum(size.test for size in sizes) == pytest.approx(sum(len(task.test) for task in real.tasks), rel=0.1)


def test_runs_that_differ_in_seed_and_rates_are_measured_once(monkeypatch):
    measured = []

    def count(experiment):
        measured.append(experiment)
        return Cost(float(experiment.options.epochs), 0.0)

    monkeypatch.setattr(module, "measure", count)
    options = [{"epochs": 1}, {"epochs": 1, "learning_rate": 0.5}, {"epochs": 2}]
    costs = estimate([experiment(options=chosen, seed=seed) for chosen in options for seed in (0, 1)])
    assert [cost.total for cost in costs] == [1, 1, 1, 1, 2, 2]
    assert len(measured) == 2


def test_workers_share_the_work_but_not_a_run():
    costs = [Cost(10.0, 2.0), Cost(1.0, 1.0), Cost(1.0, 1.0)]
    assert wall_clock(costs, 1) == 16.0
    assert wall_clock(costs, 2) == 12.0
    assert wall_clock([], 2) == 0.0
    assert (duration(59.6), duration(600), duration(9000)) == ("60 s", "10 min", "2.5 h")


def test_a_dry_run_lists_what_is_left_and_runs_nothing(tmp_path, capsys):
    path = tmp_path / "grid.toml"
    path.write_text(
        'seeds = [0, 1]\n[[grid]]\nmethod = "finetune"\ndataset = "split-digits"\nscenario = "task"\nwidth = [5, 10]'
    )
    with pytest.raises(SystemExit) as code:
        main(["sweep", str(path), "--dry-run", "--out", str(tmp_path / "runs"), "--workers", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert code.value.code == 0
    assert lines[0].startswith("finetune split-digits task seed 0 width=5 about")
    assert lines[-1].startswith("4 runs to do: about")
    assert not (tmp_path / "runs").exists()


def test_a_run_is_measured_on_one_thread_and_the_threads_are_given_back(monkeypatch):
    before, seen = torch.get_num_threads(), []

    def measured(made):
        seen.append(torch.get_num_threads())
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_measured", measured)
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyboardInterrupt):
            measure(experiment())
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)
