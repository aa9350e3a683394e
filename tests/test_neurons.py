"""Neurons are counted in one way wherever they are shown."""

import numpy as np
import pytest

from fabricated import fabricate, rewrite
from hibnn import ContinualClassifier
from hibnn.cli.commands import inspect
from hibnn.estimators.pictures import model_figure, task_neurons
from hibnn.neurons import chosen_widths, layer_neurons, neurons_by_task, neurons_text, sizes_itself
from hibnn.report.names import in_order
from hibnn.report.page.render import explorer_data, page_of
from hibnn.runs.groups import group_by_setting
from hibnn.runs.record import read_record


def test_kept_or_expected_neurons_are_those_the_learner_says_and_a_chosen_width_counts_whole():
    assert layer_neurons([3.0, 2.5], (10, 10)) == [3.0, 2.5]
    assert layer_neurons([0.0], (10,)) == [0.0]
    assert layer_neurons(None, (30, 20)) == [30.0, 20.0]


def test_a_run_has_the_sum_over_layers_after_each_task():
    sized = {"active_units_per_task": [[3.0, 2.0], [5.0, 2.5]]}
    assert neurons_by_task(sized, {"width": 100, "depth": 2}) == [5.0, 7.5]
    assert sizes_itself(sized)
    chosen = {"active_units_per_task": [None, None]}
    assert neurons_by_task(chosen, {"hidden": [30, 20], "width": 100, "depth": 1}) == [50.0, 50.0]
    assert not sizes_itself(chosen)
    assert neurons_by_task(chosen, {}) is None
    assert neurons_by_task({}, {"width": 100, "depth": 1}) is None


@pytest.mark.parametrize("options", [{}, {"depth": 2}, {"hidden": ["a"]}, {"width": 3, "depth": 10**9}, {"hidden": 7}])
def test_widths_that_make_no_sense_are_none(options):
    assert chosen_widths(options) == ()


def test_the_page_the_rows_and_the_explorer_say_the_same_number(tmp_path):
    run = fabricate(tmp_path / "ibnn", 0.9)
    rewrite(run, "result.json", active_units=[41.6, 3.0], active_units_per_task=[[4.0, 1.0], [9.0, 2.0], [41.6, 3.0]])
    other = fabricate(tmp_path / "vcl", 0.8, method="vcl", hidden=(30, 21))
    rewrite(other, "result.json", active_units=None, active_units_per_task=[None] * 3)
    records = [read_record(folder) for folder in (run, other)]
    assert [record.row()["active_units"] for record in records] == [44.6, 51.0]
    groups = in_order(group_by_setting(records))
    assert [one["neurons"] for one in explorer_data(groups)] == [[5.0, 11.0, 44.6], [51.0] * 3]
    page = page_of(records, [tmp_path])
    assert '<td class="number" data-v="44.6">45</td>' in page
    assert '<td class="number" data-v="51">51</td>' in page


@pytest.fixture(scope="module", params=[{}, {"options": {"size": "prior"}}, {"method": "ewc"}], ids=str)
def model(request):
    """Two tasks; sized by data, by the prior's masks, and by somebody's choice."""
    random = np.random.default_rng(0)
    x = random.normal(size=(120, 4)).astype(np.float32)
    made = ContinualClassifier(**request.param, truncation=12, epochs=2, random_state=0)
    made.partial_fit(x, (x[:, 0] > 0).astype(int), classes=[0, 1])
    return made.partial_fit(x, 2 + (x[:, 1] > 0).astype(int))


def test_models_say_the_same_number_everywhere(model, tmp_path):
    path = tmp_path / "model.hibnn"
    model.save(path)
    known = inspect.describe(path)
    assert known["neurons"] == pytest.approx(model.n_active_, abs=0.05)
    last = task_neurons(model.model_, len(model.tasks_) - 1)
    assert last == pytest.approx(model.n_active_)
    bars = model_figure(model).axes[0].patches
    assert bars[-1].get_height() == pytest.approx(model.n_active_[0])


def test_numbers_are_rounded_in_one_way():
    assert neurons_text([41.6, 3.0]) == "42 + 3"
    assert neurons_text([0.0]) == "0"
