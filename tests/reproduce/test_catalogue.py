from pathlib import Path

import pytest

from hibnn import UserError
from hibnn.reproduce.catalogue import ENTRIES, chosen, pieces
from hibnn.reproduce.costs import Costs, kind_of
from hibnn.reproduce.plan import in_order, missing, standings
from recorded import record

PAPER = Path(__file__).parents[2] / "paper"


@pytest.fixture(scope="module")
def whole():
    return pieces(PAPER, ENTRIES)


def test_no_setting_is_run_twice_for_two_tables(whole):
    assert len({piece.digest for piece in whole}) == len(whole)
    shared = [piece for piece in whole if piece.experiment.method == "ibnn" and "table1" in piece.entries]
    split = [piece for piece in shared if piece.experiment.dataset == "split-mnist-noise"]
    assert all({"den", "bscl", "width-study", "neurons", "task-accuracies"} <= set(piece.entries) for piece in split)


def test_heads_of_a_task_are_trained_once_for_all_scenarios(whole):
    for piece in whole:
        run = piece.experiment
        if "table1" in piece.entries and run.method in ("vcl", "ibnn", "den"):
            assert str(run.scenario) == "task" or run.dataset == "permuted-mnist"


def test_every_entry_has_runs(whole):
    assert {name for piece in whole for name in piece.entries} == {entry.name for entry in ENTRIES}


def test_every_kind_of_run_has_an_estimate(whole):
    costs = Costs([], PAPER / "records")
    known = [piece for piece in whole if not {"time-stamps", "neighbours", "size"}.intersection(piece.entries)]
    unknown = {kind_of(piece.experiment, piece.pruned) for piece in known if costs.seconds(piece) is None}
    assert len(unknown) < len({kind_of(piece.experiment, piece.pruned) for piece in known}) / 2


def test_only_what_is_pruned_and_of_the_papers_settings_says_so(whole):
    assert {entry for piece in whole if piece.pruned for entry in piece.entries} == {"pruning"}
    regimes = {piece.regime: piece.entries for piece in whole}
    assert regimes.keys() == {"default", "paper"}
    assert regimes["paper"] == ("paper-regime",)


def test_what_the_paper_does_not_have_is_run_only_by_name():
    assert "size" not in {entry.name for entry in chosen(PAPER)}
    assert [entry.name for entry in chosen(PAPER, ["size"])] == ["size"]


def test_an_unknown_name_or_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(UserError, match="did you mean 'table1'"):
        chosen(PAPER, ["tabel1"])
    with pytest.raises(UserError, match=r"no table1\.toml"):
        chosen(tmp_path, ["table1"])


class Known(Costs):
    """Seconds by seed and method."""

    def __init__(self, seconds):
        self.known = seconds

    def seconds(self, piece):
        return self.known.get(piece.experiment.method)


def test_cheap_runs_come_first_and_all_their_seeds_before_expensive_ones(whole):
    some = [p for p in whole if p.experiment.dataset == "split-mnist" and p.experiment.method in ("si", "den", "joint")]
    ordered = in_order(some, Known({"si": 2.0, "den": 50.0}))
    methods = [piece.experiment.method for piece in ordered]
    assert methods == sorted(methods, key=["si", "den", "joint"].index)  # what is unknown comes last
    seeds = [piece.experiment.seed for piece in ordered if piece.experiment.method == "den"]
    assert seeds == sorted(seeds)


def test_what_is_recorded_is_not_missing_and_its_seconds_estimate_the_rest(whole, tmp_path):
    first = next(p for p in whole if p.experiment.method == "ibnn" and p.experiment.dataset == "split-mnist")
    runs = [p for p in whole if p.experiment.method == "ibnn" and p.experiment.dataset == "split-mnist"]
    found = record(0.9, first.experiment.seed, method="ibnn", dataset="split-mnist")
    known = {found.digest: found}
    assert len(missing(runs, known)) == len(runs) - 1
    costs = Costs(known.values(), tmp_path)
    entry = next(entry for entry in ENTRIES if entry.name == "neurons")
    own = [piece for piece in runs if "neurons" in piece.entries]
    (standing,) = standings([entry], own, known, costs)
    assert (standing.recorded, standing.missing, standing.unknown) == (1, 4, 0)
    assert standing.seconds == pytest.approx(4 * found.cpu_seconds)
