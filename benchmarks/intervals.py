"""Numbers that arrive month after month: how right the means are, and how many targets their 95 % intervals cover.

python benchmarks/intervals.py [--streams NAME ...] [--contenders NAME ...] [--seeds N] > table.md
python benchmarks/intervals.py --judge-on validation --first-seed 10 [--options '{"learning_rate": 0.03}']

A quarter of every month is held out. `seen` is asked of held-out rows of all months, after the last; `next` of every
month but the first, by the model that has learned those before it. A cell holds R2, coverage in %, the mean width of
the intervals in standard deviations of the target and the mean log density of the target in the same unit, of both,
and processor seconds of learning.

Settings are chosen on validation rows: a fifth of the rows that a month has to learn takes the place of its test rows,
which nobody sees. `--options` are options of hibnn's method, and its last line is the mean over streams.

Rivals have the interval that is at hand: 1.96 deviations of their residuals on rows they learned.
"""

import argparse
import csv
import gzip
import io
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from statistics import mean
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler
from streams import PASSES, Rows, Stream, bikeshare, packaged, portions, shuffled

from hibnn import ContinualRegressor

NORMAL = 1.959964
Answer = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Means and standard deviations."""


def table(text: str, target: str, *, drop: Sequence[str] = ()) -> Rows:
    """A CSV file whose words become a column for each but the first; rows with gaps are left out."""
    rows = [
        row for row in csv.DictReader(io.StringIO(text)) if all(cell not in ("", "NA", "?") for cell in row.values())
    ]
    inputs = []
    for name in (name for name in rows[0] if name not in (target, *drop)):
        cells = [row[name] for row in rows]
        try:
            inputs.append(np.array([float(cell) for cell in cells]))
        except ValueError:
            inputs += [np.array([float(cell == word) for cell in cells]) for word in sorted(set(cells))[1:]]
    return np.column_stack(inputs), np.array([float(row[target]) for row in rows])


def islp(name: str, target: str, *drop: str) -> Callable[[], Rows]:
    """A table of ISLP."""
    return lambda: table(packaged("ISLP", f"{name}.csv").decode(), target, drop=drop)


def shuffled_months(load: Callable[[], Rows], months: int = 5) -> Callable[[int], Stream]:
    """The same distribution every month."""

    def make(seed: int) -> Stream:
        train, test = shuffled(load(), seed)
        return Stream(portions(train, months), portions(test, months), regression=True)

    return make


def in_order(load: Callable[[], Rows], months: int) -> Callable[[int], Stream]:
    """Months as the rows come."""

    def make(seed: int) -> Stream:
        parts = [shuffled(part, seed) for part in portions(load(), months)]
        return Stream([train for train, _ in parts], [test for _, test in parts], regression=True)

    return make


def for_validation(stream: Stream, seed: int) -> Stream:
    """A fifth of the rows of each month judged in place of its test rows, which are left out."""
    learned, judged = [], []
    for number, (x, y) in enumerate(stream.months):
        chosen = np.random.default_rng((seed, number)).permutation(len(x)) < len(x) // 5
        learned.append((x[~chosen], y[~chosen]))
        judged.append((x[chosen], y[chosen]))
    return Stream(learned, judged, regression=True)


def approval() -> Rows:
    """A president's approval by five polls, day by day."""
    return table(gzip.decompress(packaged("river", "trump_approval.csv.gz")).decode(), "five_thirty_eight")


def wages() -> Rows:
    """Wages of 3,000 men in the years 2003 to 2009, in the order of years."""
    x, y = islp("Wage", "wage", "logwage", "region")()
    order = np.argsort(x[:, 0], kind="stable")
    return x[order], y[order]


STREAMS: dict[str, Callable[[int], Stream]] = {
    "bikeshare": bikeshare,
    "wages by year": in_order(wages, 7),
    "approval": in_order(approval, 8),
    "diabetes": shuffled_months(lambda: load_diabetes(return_X_y=True)),
    "carseats": shuffled_months(islp("Carseats", "Sales")),
    "cars": shuffled_months(islp("Auto", "mpg", "name")),
    "Boston": shuffled_months(islp("Boston", "medv")),
    "colleges": shuffled_months(islp("College", "Grad.Rate")),
    "credit limits": shuffled_months(islp("Credit", "Balance", "ID")),
    "salaries": shuffled_months(islp("Hitters", "Salary")),
    "chicks": shuffled_months(lambda: table(packaged("river", "chick-weights.csv").decode(), "weight", drop=["chick"])),
}


class Hibnn:
    """The estimator as it comes, or with some options of its method."""

    def __init__(self, seed: int, method: str = "ibnn", options: Mapping[str, Any] | None = None) -> None:
        self.estimator = ContinualRegressor(method, random_state=seed, verbose=-1, options=options)

    def learn(self, x: NDArray[Any], y: NDArray[Any]) -> None:
        self.estimator.partial_fit(x, y)

    def predict(self, x: NDArray[Any]) -> Answer:
        return self.estimator.predict(x, return_std=True)


class Ridge:
    """Least squares with a penalty of 1 on standardised columns, from sums that are added up month by month."""

    def __init__(self, seed: int) -> None:
        self.scaler = StandardScaler()
        self.products: Any = 0.0
        self.rows = 0

    def learn(self, x: NDArray[Any], y: NDArray[Any]) -> None:
        if not hasattr(self.scaler, "mean_"):
            self.scaler.fit(x)
        both = np.column_stack([np.ones(len(x)), self.scaler.transform(x), y])
        self.products, self.rows = self.products + both.T @ both, self.rows + len(x)
        inner, outer = self.products[:-1, :-1], self.products[:-1, -1]
        penalty = np.eye(len(inner))
        penalty[0, 0] = 0.0
        self.weights = np.linalg.solve(inner + penalty, outer)
        error = self.products[-1, -1] - 2 * self.weights @ outer + self.weights @ inner @ self.weights
        self.deviation = np.sqrt(error / max(1, self.rows - len(inner)))

    def predict(self, x: NDArray[Any]) -> Answer:
        means = self.weights[0] + self.scaler.transform(x) @ self.weights[1:]
        return means, np.full(len(x), self.deviation)


class Network:
    """scikit-learn's MLP: taught by `partial_fit`, or anew each month with all rows kept (`retrained`)."""

    def __init__(self, seed: int, retrained: bool = False) -> None:
        self.new = lambda: MLPRegressor(hidden_layer_sizes=(100,), max_iter=300, random_state=seed)
        self.model, self.scaler, self.retrained = self.new(), StandardScaler(), retrained
        self.kept: list[Rows] = []
        self.shift, self.scale = 0.0, 1.0

    def learn(self, x: NDArray[Any], y: NDArray[Any]) -> None:
        if not hasattr(self.scaler, "mean_"):
            self.scaler.fit(x)
            self.shift, self.scale = float(y.mean()), float(y.std())
        if self.retrained:
            self.kept.append((x, y))
            x, y = (np.concatenate(parts) for parts in zip(*self.kept, strict=True))
            self.model = self.new().fit(self.scaler.transform(x), (y - self.shift) / self.scale)
        else:
            for _ in range(PASSES):
                self.model.partial_fit(self.scaler.transform(x), (y - self.shift) / self.scale)
        self.deviation = float((self._means(x) - y).std())

    def _means(self, x: NDArray[Any]) -> NDArray[np.float64]:
        return self.shift + self.scale * self.model.predict(self.scaler.transform(x))

    def predict(self, x: NDArray[Any]) -> Answer:
        return self._means(x), np.full(len(x), self.deviation)


CONTENDERS: dict[str, Callable[..., Any]] = {
    "hibnn": Hibnn,
    "hibnn, VCL": lambda seed, **given: Hibnn(seed, "vcl", **given),
    "ridge": Ridge,
    "MLP": Network,
    "retrained": lambda seed: Network(seed, retrained=True),
}


@dataclass(frozen=True)
class Score:
    """R2, coverage, and in standard deviations of the target width and mean log density, on rows of one kind."""

    r2: float
    covered: float
    width: float
    log_density: float

    @classmethod
    def of(cls, y: NDArray[Any], answer: Answer) -> "Score":
        means, deviations = answer
        inside = np.abs(y - means) < NORMAL * deviations
        squares = ((y - means) / deviations) ** 2
        density = -0.5 * (math.log(2 * math.pi) + 2 * np.log(deviations / y.std()) + squares)
        width = float(2 * NORMAL * deviations.mean() / y.std())
        return cls(r2_score(y, means), float(inside.mean()), width, float(density.mean()))

    @classmethod
    def mean(cls, scores: Sequence["Score"]) -> "Score":
        return cls(*(mean(values) for values in zip(*(astuple(score) for score in scores), strict=True)))

    def __str__(self) -> str:
        return f"{self.r2:.3f}, {100 * self.covered:.1f} %, {self.width:.2f}, {self.log_density:.2f}"


@dataclass(frozen=True)
class Reached:
    """On held-out rows of all months, on months to come, and the seconds it took; of one seed or the mean of many."""

    seen: Score
    following: Score
    seconds: float

    @classmethod
    def mean(cls, several: Sequence["Reached"]) -> "Reached":
        seen, following = (Score.mean([getattr(one, kind) for one in several]) for kind in ("seen", "following"))
        return cls(seen, following, mean(one.seconds for one in several))

    def __str__(self) -> str:
        return f"{self.seen} / {self.following} ({self.seconds:.1f} s)"


def judge(stream: Stream, contender: Any) -> Reached:
    """Learn all months, and be asked of those seen and those to come."""
    torch.set_num_threads(1)
    seconds, answers, targets = 0.0, [], []
    for at, (x, y) in enumerate(stream.months):
        start = time.process_time()
        contender.learn(x, y)
        seconds += time.process_time() - start
        if at + 1 < len(stream.months):
            after = [np.concatenate(parts) for parts in zip(stream.months[at + 1], stream.tests[at + 1], strict=True)]
            answers.append(contender.predict(after[0]))
            targets.append(after[1])
    following = tuple(np.concatenate(parts) for parts in zip(*answers, strict=True))
    x, y = (np.concatenate(parts) for parts in zip(*stream.tests, strict=True))
    return Reached(Score.of(y, contender.predict(x)), Score.of(np.concatenate(targets), following), seconds)


def main() -> None:
    """Print the table, a line a stream as it is made, and the mean over streams."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", nargs="*", default=list(STREAMS))
    parser.add_argument("--contenders", nargs="*", default=list(CONTENDERS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--judge-on", choices=("test", "validation"), default="test")
    parser.add_argument("--options", type=json.loads, help="of hibnn's method, as JSON")
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)

    def reached(name: str, contender: str) -> Reached:
        scores = []
        for seed in seeds:
            stream, options = STREAMS[name](seed), {} if given.options is None else {"options": given.options}
            stream = stream if given.judge_on == "test" else for_validation(stream, seed)
            made = CONTENDERS[contender](seed, **(options if contender.startswith("hibnn") else {}))
            scores.append(judge(stream, made))
        return Reached.mean(scores)

    print(f"| stream | {' | '.join(given.contenders)} |\n|{'---|' * (1 + len(given.contenders))}")
    rows = list[list[Reached]]()
    for name in given.streams:
        rows.append([reached(name, contender) for contender in given.contenders])
        print(f"| {name} | {' | '.join(map(str, rows[-1]))} |", flush=True)
    means = [Reached.mean(column) for column in zip(*rows, strict=True)]
    print(f"| mean | {' | '.join(map(str, means))} |")


if __name__ == "__main__":
    main()
