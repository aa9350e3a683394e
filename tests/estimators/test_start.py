"""What is imported when: a module that is not needed yet must not be waited for."""

import json
import subprocess
import sys

import numpy as np
import pytest

from hibnn.cli.commands import inspect
from hibnn.estimators import ContinualClassifier
from hibnn.estimators.summary import describe
from hibnn.files.container import read_container, write_container
from hibnn.files.raw import read_metadata

FIT = """
import sys
from hibnn import ContinualClassifier, ContinualRegressor, TableEncoder

def tell(*names):
    print([name for name in names if name in sys.modules])

tell("torch", "matplotlib", "rich", "sklearn.metrics", "sympy")
import numpy as np
x = np.random.default_rng(0).normal(size=(40, 2))
model = ContinualClassifier(epochs=1, truncation=2).fit(x, x[:, 0] > 0)
model.predict(x)
tell("torch._dynamo", "torch._inductor", "matplotlib", "sympy")
"""
WORDS = """
import sys
from hibnn.cli.commands import fit, predict
assert not {"torch", "sklearn", "scipy", "pandas", "pyarrow"} & set(sys.modules)
"""
INSPECT = """
import sys
from hibnn.cli.commands import inspect
inspect.main([sys.argv[1], "--json"])
there = [name for name in ("torch", "sklearn", "scipy", "pandas", "numpy", "matplotlib") if name in sys.modules]
assert not there, there
"""


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True, text=True
    )


@pytest.fixture
def file(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 2))
    model = ContinualClassifier(epochs=1, truncation=2, random_state=0, verbose=False)
    model.fit(x, x[:, 0] > 0).save(tmp_path / "model.hibnn")
    return tmp_path / "model.hibnn"


def test_estimators_are_imported_without_torch_and_fitted_without_its_compiler():
    assert run(FIT).stdout.splitlines() == ["[]", "[]"]


def test_the_words_of_fit_and_predict_are_known_without_what_learns():
    assert run(WORDS).returncode == 0


def test_inspect_needs_neither_torch_nor_scikit_learn_and_says_what_a_loaded_model_says(file):
    seen = json.loads(run(INSPECT, file).stdout)
    stored = read_container(file)
    metadata = json.loads(stored.metadata)
    del metadata["counts"]  # as in files that were written before they were stored
    write_container(file, stored.header, json.dumps(metadata), stored.tensors)
    loaded = describe(file)
    assert seen["parameters"] > 0
    assert {**seen, "bytes": 0} == json.loads(json.dumps({**loaded, "bytes": 0}))


def test_metadata_are_read_of_whole_files_only(file):
    content = bytearray(file.read_bytes())
    assert read_metadata(file) is not None
    for place in (3, content.index(b"Continual"), len(content) - 1):
        damaged = content.copy()
        damaged[place] ^= 1
        file.write_bytes(damaged)
        assert read_metadata(file) is None
    file.write_bytes(content[: len(content) // 2])
    assert read_metadata(file) is None
    assert read_metadata(file.parent) is None


def test_a_damaged_model_is_refused_by_inspect_in_a_sentence(file):
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(Exception, match="was changed after it was written: use an intact copy"):
        inspect.main([str(file)])
