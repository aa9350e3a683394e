"""One file: what comes back is what was saved, or a sentence."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pandas
import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.datasets import load_digits

from hibnn.errors import UserError
from hibnn.estimators import ContinualClassifier, ContinualRegressor, load_model
from hibnn.estimators.persistence import VERSION
from hibnn.files.container import read_container, write_container
from hibnn.learners import State
from hibnn.runs.checkpoint import write_state

PORTION = """
import sys
import torch
from sklearn.datasets import load_digits
from hibnn.estimators import ContinualClassifier
torch.set_num_threads(1)
x, y = (values[:400] for values in load_digits(return_X_y=True))
for number in map(int, sys.argv[2:]):
    start = ContinualClassifier(epochs=2, random_state=7) if number == 0 else ContinualClassifier.load(sys.argv[1])
    rows = y // 2 == number if number < 2 else y < 4
    start.partial_fit(x[rows], y[rows]).save(sys.argv[1])
"""


@pytest.fixture(scope="module")
def fitted():
    x, y = load_digits(return_X_y=True)
    frame = pandas.DataFrame(x[:200], columns=[f"pixel {number}" for number in range(64)])
    model = ContinualClassifier(epochs=2, truncation=8, random_state=0)
    return frame, model.fit(frame, np.array(["even", "odd"])[y[:200] % 2], task="parity")


@pytest.fixture
def file(fitted, tmp_path):
    path = tmp_path / "model.hibnn"
    fitted[1].save(path)
    return path


@pytest.mark.slow
def test_three_experiences_in_three_processes_equal_one_process_bit_for_bit(tmp_path):
    def run(name, *experiences):
        command = [sys.executable, "-c", PORTION, str(tmp_path / name), *experiences]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "random"})

    for number in "012":
        run("apart.hibnn", number)
    x, y = (values[:400] for values in load_digits(return_X_y=True))
    together = ContinualClassifier(epochs=2, random_state=7)
    for rows in (y // 2 == 0, y // 2 == 1, y < 4):
        together.partial_fit(x[rows], y[rows])
    together.save(tmp_path / "together.hibnn")
    apart, together = (load_file(tmp_path / name) for name in ("apart.hibnn", "together.hibnn"))
    assert apart.keys() == together.keys()
    assert all(np.array_equal(apart[name], together[name]) for name in apart)


def test_everything_comes_back(fitted, file):
    frame, model = fitted
    loaded = load_model(file)
    assert type(loaded) is ContinualClassifier
    assert loaded.get_params() == model.get_params()
    assert loaded.tasks_ == ["parity"]
    assert loaded.classes_.tolist() == ["even", "odd"]
    assert loaded.n_active_ == model.n_active_
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    assert np.array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    with pytest.raises(ValueError, match="lacks the column 'pixel 3'"):
        loaded.predict(frame.rename(columns={"pixel 3": "other"}))


def test_a_prior_that_equals_its_posterior_is_stored_once(file):
    names = load_file(file).keys()
    assert any(name.endswith(".mean") for name in names)
    assert not any(name.endswith("prior_mean") for name in names)


def test_saving_a_loaded_model_writes_the_same_bytes(file, tmp_path):
    load_model(file).save(tmp_path / "again.hibnn")
    assert (tmp_path / "again.hibnn").read_bytes() == file.read_bytes()


def test_a_file_cut_short_is_refused(file):
    for size in (0, 5, 100, file.stat().st_size - 1):
        cut = file.with_name(f"cut-{size}")
        cut.write_bytes(file.read_bytes()[:size])
        with pytest.raises(UserError, match="damaged"):
            load_model(cut)


def test_any_changed_number_is_noticed(file):
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(UserError, match="was changed after it was written"):
        load_model(file)


def test_any_changed_fact_is_noticed(file):
    content = file.read_bytes()
    assert content.count(b"parity") == 1
    file.write_bytes(content.replace(b"parity", b"purity"))
    with pytest.raises(UserError, match="was changed after it was written"):
        load_model(file)


def test_a_file_of_another_version_is_refused(file):
    with safe_open(file, framework="pt") as opened:
        label = json.loads(opened.metadata()["hibnn"])
    save_file(load_file(file), file, metadata={"hibnn": json.dumps(label | {"version": 1})})
    with pytest.raises(UserError, match="fit it again"):
        load_model(file)
    save_file(load_file(file), file, metadata={"hibnn": json.dumps(label | {"version": VERSION + 1})})
    with pytest.raises(UserError, match="upgrade hibnn"):
        load_model(file)


def test_files_of_another_kind_are_refused(tmp_path):
    with pytest.raises(UserError, match="there is no model at"):
        load_model(tmp_path / "missing.hibnn")
    (tmp_path / "text.hibnn").write_text("january,february\n1,2\n")
    with pytest.raises(UserError, match="damaged or no model"):
        load_model(tmp_path / "text.hibnn")
    save_file({}, tmp_path / "foreign.hibnn")
    with pytest.raises(UserError, match="does not say what it is"):
        load_model(tmp_path / "foreign.hibnn")
    write_state(tmp_path / "other.hibnn", State({}, {}))
    with pytest.raises(UserError, match="is no model of hibnn"):
        load_model(tmp_path / "other.hibnn")
    with pytest.raises(UserError, match="damaged or no model"):
        load_model(tmp_path)


def test_a_classifier_is_not_loaded_as_a_regressor(file):
    with pytest.raises(UserError, match=r"ContinualClassifier\.load"):
        ContinualRegressor.load(file)


def test_a_model_that_cannot_be_written_leaves_the_old_file_alone(fitted, file):
    before = hashlib.sha256(file.read_bytes()).digest()
    with pytest.raises(UserError, match="cannot write"):
        fitted[1].save(file / "below-a-file.hibnn")
    assert hashlib.sha256(file.read_bytes()).digest() == before


def test_a_model_that_may_not_be_read_is_not_called_absent(file, monkeypatch):
    def refused(*_, **__):
        raise FileNotFoundError  # as safetensors does

    monkeypatch.setattr("hibnn.files.container.safe_open", refused)
    with pytest.raises(UserError, match="cannot be opened: check who may read it"):
        load_model(file)


def test_numbers_of_numpy_are_saved_as_plain_ones(tmp_path):
    whole = np.int64
    further = {"learning_rate": np.float32(0.01), "prediction_draws": whole(2)}
    model = ContinualClassifier(truncation=whole(5), epochs=whole(1), draws=whole(4), options=further, verbose=False)
    model.fit(np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2)
    model.save(tmp_path / "model")
    loaded = ContinualClassifier.load(tmp_path / "model")
    assert (loaded.truncation, loaded.epochs, loaded.draws, loaded.options["prediction_draws"]) == (5, 1, 4, 2)


def changed(file, change):
    """The file with other facts, under a valid checksum."""
    container = read_container(file)
    metadata, tensors = json.loads(container.metadata), dict(container.tensors)
    change(metadata, tensors)
    header = {name: value for name, value in container.header.items() if name != "sha256"}
    write_container(file, header, json.dumps(metadata), tensors)


FACTS = {
    "no tasks": lambda facts, tensors: facts.update(tasks=[]),
    "a class twice": lambda facts, tensors: facts["tasks"][0].update(classes=facts["tasks"][0]["classes"][:1] * 2),
    "negative rows": lambda facts, tensors: facts["tasks"][0].update(rows=-1),
    "no options": lambda facts, tensors: facts.pop("options"),
    "a list for a table": lambda facts, tensors: facts.update(parameters=[]),
    "an unknown estimator": lambda facts, tensors: facts.update(estimator="Oracle"),
    "a negative head": lambda facts, tensors: facts["model"].update(head_sizes=[-2]),
    "an endless head": lambda facts, tensors: facts["model"].update(head_sizes=[10**19]),
    "a scale of zero": lambda facts, tensors: tensors["inputs.scale"].zero_(),
    "too few scales": lambda facts, tensors: tensors.update({"inputs.scale": tensors["inputs.scale"][:1]}),
    "no means": lambda facts, tensors: tensors.pop("inputs.mean"),
    "a parameter of words": lambda facts, tensors: facts["parameters"].update(epochs="many"),
}


@pytest.mark.parametrize("fact", FACTS)
def test_facts_that_do_not_belong_together_are_refused_in_a_sentence(fact, file):
    changed(file, FACTS[fact])
    with pytest.raises(UserError):
        load_model(file)
