"""What the estimators cost: training rate, peak memory, and what it saves that data decide the size.

python benchmarks/estimators.py tabular             wine and breast cancer, each as three experiences in sequence
python benchmarks/estimators.py stream ROWS         a drifting stream of ROWS x 20 from a Parquet file
python benchmarks/estimators.py size                split-mnist: an IBNN, which data size, beside VCL of width 100
python benchmarks/estimators.py untold              split-mnist: nobody tells the task; densities beside entropy

`size` judges the network alone (task_inference="entropy"), the task being told. Rates are in
rows per second of processor time on one thread. Accuracies on split-mnist are on its validation split.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold, train_test_split

from hibnn.benchmarks import Scenario, benchmark
from hibnn.estimators import ContinualClassifier


def tabular() -> None:
    """Three experiences of one task, the rest held out."""
    for load in (load_wine, load_breast_cancer):
        x, y = load(return_X_y=True)
        train_x, test_x, train_y, test_y = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
        start, model, scores = time.process_time(), ContinualClassifier(random_state=0), []
        for _, rows in StratifiedKFold(3, shuffle=True, random_state=0).split(train_x, train_y):
            scores.append(model.partial_fit(train_x[rows], train_y[rows]).score(test_x, test_y))
        seconds = time.process_time() - start
        print(
            f"{load.__name__}: accuracy after each experience {np.round(scores, 3)}, "
            f"{len(train_x) / seconds:.0f} rows/s, neurons in use {model.n_active_[0]:.0f}, {memory()}"
        )


def stream(rows: int) -> None:
    """A boundary that turns slowly; the last tenth of every experience is judged as `hibnn fit` does it."""
    from hibnn.estimators.tables.reading import TableFile
    from hibnn.estimators.tables.table_model import begin, teach

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.parquet"
        write_stream(path, rows)
        written = memory()
        start = time.process_time()
        estimator = ContinualClassifier(epochs=2, random_state=0)
        model = begin(TableFile(path), "y", (), estimator)
        model = teach(model, model.file(path), None, "refuse", 50_000)
        seconds = time.process_time() - start
    print(
        f"{rows} x 20: {seconds:.0f} s, {rows / seconds:.0f} rows/s at two epochs an experience, accuracy held out "
        f"{model.judged['accuracy']:.3f}, {memory()} ({written} once the file was written)"
    )


def write_stream(path: Path, rows: int, at_once: int = 50_000) -> None:
    """Rows whose class depends on a direction that turns by a quarter over the stream."""
    import pyarrow
    from pyarrow import parquet

    random = np.random.default_rng(0)
    names = [*(f"x{number}" for number in range(20)), "y"]
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
    with parquet.ParquetWriter(path, schema) as writer:
        for first in range(0, rows, at_once):
            x = random.normal(size=(min(at_once, rows - first), 20))
            angle = 0.5 * np.pi * (first + np.arange(len(x))) / rows
            y = (np.cos(angle) * x[:, 0] + np.sin(angle) * x[:, 1] + 0.3 * x[:, 2] * x[:, 3] > 0).astype(float)
            writer.write_table(pyarrow.table(dict(zip(names, [*x.T, y], strict=True)), schema=schema))


def size() -> None:
    """Size, speed and accuracy of a network that data sized, and of one of a chosen width."""
    for method in ("vcl", "ibnn"):
        model, tasks = split_mnist(method)
        x = np.concatenate([task.test.load().x for task in tasks])
        rate, widths = prediction_rate(model, x), model.model_.learner.bayesian.widths
        print(
            f"{method}: {widths} neurons, {model.n_parameters()} numbers, accuracy {accuracy(model, tasks):.4f}, "
            f"{rate:.0f} rows/s"
        )


def untold() -> None:
    """The task is inferred, row by row."""
    for task_inference in ("entropy", "density"):
        start = time.process_time()
        model, tasks = split_mnist("ibnn", task_inference)
        seconds = time.process_time() - start
        told, inferred = accuracy(model, tasks), accuracy(model, tasks, told=False)
        print(
            f"{task_inference}: accuracy {told:.4f} told, {inferred:.4f} untold, "
            f"{model.n_parameters()} numbers, {seconds:.0f} s"
        )


def split_mnist(method, task_inference="entropy"):
    """A classifier taught the five tasks of split-mnist, and the tasks."""
    tasks = benchmark("split-mnist", Scenario.TASK, seed=0, evaluate_on="validation").tasks
    model = ContinualClassifier(
        method,
        scaling="examples",
        epochs=15,
        batch_size=256,
        task_inference=task_inference,
        random_state=0,
        options={"learning_rate": 5e-3 if method == "ibnn" else 2e-3},
    )
    for number, task in enumerate(tasks):
        split = task.train.load()
        model.partial_fit(split.x, np.array(task.classes)[split.y], task=number)
    return model, tasks


def accuracy(model, tasks, told: bool = True) -> float:
    """The mean over tasks."""
    splits = [task.test.load() for task in tasks]
    return float(
        np.mean(
            [
                model.score(split.x, np.array(task.classes)[split.y], task=number if told else None)
                for number, (task, split) in enumerate(zip(tasks, splits, strict=True))
            ]
        )
    )


def prediction_rate(model, x: np.ndarray) -> float:
    """Rows per second, the best of ten."""
    seconds = []
    for _ in range(10):
        start = time.process_time()
        model.predict_proba(x, task=0)
        seconds.append(time.process_time() - start)
    return len(x) / min(seconds)


def memory() -> str:
    """The most memory this process has held so far."""
    return f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"


def main(words: list[str]) -> None:
    """Find the measurement."""
    torch.set_num_threads(1)
    if words[:1] == ["tabular"]:
        tabular()
    elif words[:1] == ["stream"] and len(words) == 2:
        stream(int(words[1]))
    elif words == ["size"]:
        size()
    elif words == ["untold"]:
        untold()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
