import pytest

from hibnn.reproduce.cells import Book, cpu_text, neurons_text
from recorded import record

MNIST = {"dataset": "split-mnist"}


def test_a_cell_is_the_mean_over_seeds_in_percent_with_its_standard_error():
    book = Book(record(acc, seed, method="ibnn", **MNIST) for seed, acc in enumerate((0.90, 0.92, 0.94)))
    cell = book.cell("ibnn", "split-mnist", "task")
    assert (cell.seeds, cell.value) == (3, pytest.approx(92.0))
    assert cell.text == "92.00 ± 1.15"  # 2 / sqrt(3)
    assert (neurons_text(cell), cpu_text(cell)) == ("40, 60, 70", "11")


def test_a_scenario_without_runs_of_its_own_is_read_out_of_task_runs():
    read = [record(0.9, method="ibnn", read_outs={"class": 0.5}, **MNIST)]
    assert Book(read).cell("ibnn", "split-mnist", "class").text == "50.00"
    own = record(0.6, method="ibnn", scenario="class", **MNIST)
    assert Book([*read, own]).cell("ibnn", "split-mnist", "class").text == "60.00"
    assert Book(read).cell("ibnn", "split-mnist", "domain").text == "not run yet"


def test_settings_that_were_not_asked_for_stay_out_of_a_cell():
    runs = [record(0.9, method="ibnn", **MNIST), record(0.1, 1, method="ibnn", timestamps="none", **MNIST)]
    runs += [record(0.2, 2, method="ibnn", tasks=2, **MNIST), record(0.3, 3, "paper", method="ibnn", **MNIST)]
    assert Book(runs).cell("ibnn", "split-mnist", "task").by_seed() == {0: 90.0}
    assert Book(runs).cell("ibnn", "split-mnist", "task", timestamps="none").by_seed() == {1: 10.0}
    assert Book(runs, ignored=["tasks"]).cell("ibnn", "split-mnist", "task", tasks=2).by_seed() == {2: 20.0}
    assert Book(runs).cell("ibnn", "split-mnist", "task", "paper").by_seed() == {3: 30.0}


def test_where_defaults_have_changed_the_setting_recorded_last_counts():
    def run(acc, seed, made, **options):
        found = record(acc, seed, made=made, method="ibnn", **MNIST)
        found.line["experiment"]["options"].update(options)
        return found

    runs = [run(0.9, 0, "2026-02"), run(0.1, 0, "2026-01", alpha=3.0), run(0.2, 1, "2026-01", alpha=3.0)]
    assert Book(runs).cell("ibnn", "split-mnist", "task").by_seed() == {0: 90.0}
    older = run(0.8, 1, "2026-01")
    del older.line["experiment"]["options"]["size_tolerance"]  # added since: its default held before
    assert Book([*runs, older]).cell("ibnn", "split-mnist", "task").by_seed() == {0: 90.0, 1: 80.0}


def test_several_widths_are_their_median_as_in_the_paper():
    accuracies = {10: (0.70, 0.72), 50: (0.90, 0.90), 100: (0.94, 0.96), 400: (0.92, 0.92)}
    runs = [
        record(acc, seed, method="ewc", width=width, **MNIST)
        for width, values in accuracies.items()
        for seed, acc in enumerate(values)
    ]
    cell = Book(runs).widths("ewc", "split-mnist", "task", tuple(accuracies))
    assert cell.value == pytest.approx(91.0)
    assert cell.by_seed() == {0: pytest.approx(91.0), 1: pytest.approx(91.0)}
    assert (cell.text, cell.seeds) == ("91.00 ± 0.00 (95.00, 71.00)", 2)
    assert cpu_text(cell) == "10 – 10"


def test_widths_that_are_missing_are_named():
    cell = Book([record(0.9, method="ewc", width=50, **MNIST)]).widths("ewc", "split-mnist", "task", (10, 50))
    assert (cell.text, cell.seeds) == ("90.00 (90.00, 90.00), without width 10", 0)
    assert Book([]).widths("ewc", "split-mnist", "task", (10, 50)).text == "not run yet"
