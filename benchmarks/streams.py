"""Files that arrive month after month: hibnn beside incremental learners, and beside retraining on everything.

python benchmarks/streams.py [--streams NAME ...] [--contenders NAME ...] [--seeds N] > table.md
python benchmarks/streams.py --draw table.md --picture streams.png
python benchmarks/streams.py --alarms [--seeds N]       stationary streams: false alarms, and what they cost

The data come inside packages: scikit-learn, `river` and `ISLP` (pip install --no-deps river ISLP; their files are read,
nothing of them is imported). A quarter of the rows is held out; what counts is the accuracy (R2 for numbers) on
held-out rows of all months after the last, nobody telling the task. Seconds are processor time of learning on one
thread (a retrained network learns when it is asked); bytes are the model's file, or the arrays that a rival holds.
Swapped labels are scored on each month by the model before it, from the month after the change on. Numbers have two
scores: R2 on held-out rows of all months after the last, and on all rows of each month by the model before it.
"""

import argparse
import csv
import gzip
import io
import re
import time
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from hibnn import ContinualClassifier, ContinualRegressor
from hibnn.errors import InputError
from hibnn.estimators.drift import Drift

FIGURE = re.compile(r"-?[0-9]+\.[0-9]+")
MARKERS = "*osD^vXP"
PASSES = 20
"""Of the incremental network over each month."""
Rows = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Stream:
    """Months to learn, and held-out rows: of all months together, or of the month that follows (`abrupt`)."""

    months: list[Rows]
    tests: list[Rows]
    regression: bool = False
    abrupt: bool = False


def packaged(package: str, name: str) -> bytes:
    """A file that an installed package brings."""
    for file in metadata.files(package) or ():
        if file.name == name:
            return Path(str(file.locate())).read_bytes()
    raise SystemExit(f"{package} has no {name}: pip install --no-deps {package}.")


def columns(text: str, target: str) -> Rows:
    """A CSV file of numbers, and its target as words."""
    rows = list(csv.DictReader(io.StringIO(text)))
    names = [name for name in rows[0] if name != target and name]
    return np.array([[float(row[name]) for name in names] for row in rows]), np.array([row[target] for row in rows])


def bananas() -> Rows:
    """Two classes in the plane, each a curved cloud."""
    archive = zipfile.ZipFile(io.BytesIO(packaged("river", "banana.zip")))
    lines = [line.split() for line in archive.read(archive.namelist()[0]).decode().splitlines() if line.strip()]
    return np.array([[float(cell.split(":")[1]) for cell in line[1:]] for line in lines]), np.array(
        [int(line[0]) for line in lines]
    )


def segments() -> Rows:
    """Seven kinds of image segments, by 19 measurements."""
    archive = zipfile.ZipFile(io.BytesIO(packaged("river", "segment.csv.zip")))
    return columns(archive.read(archive.namelist()[0]).decode(), "category")


def phishing() -> Rows:
    """Web pages, honest or not."""
    return columns(gzip.decompress(packaged("river", "phishing.csv.gz")).decode(), "is_phishing")


def credit() -> Rows:
    """Who fails to pay, 3 % of all."""
    rows = list(csv.DictReader(io.StringIO(packaged("ISLP", "Default.csv").decode())))
    inputs = [[float(row["student"] == "Yes"), float(row["balance"]), float(row["income"])] for row in rows]
    return np.array(inputs), np.array([row["default"] for row in rows])


def shuffled(rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Three quarters to learn, one to judge by, in random order."""
    x, y = rows
    order = np.random.default_rng(seed).permutation(len(x))
    cut = 3 * len(x) // 4
    return (x[order[:cut]], y[order[:cut]]), (x[order[cut:]], y[order[cut:]])


def portions(rows: Rows, count: int) -> list[Rows]:
    """Rows in so many parts, in their order."""
    x, y = rows
    return [(x[part], y[part]) for part in np.array_split(np.arange(len(x)), count)]


def stationary(load: Callable[[], Rows], months: int = 5) -> Callable[[int], Stream]:
    """The same distribution every month."""

    def make(seed: int) -> Stream:
        train, test = shuffled(load(), seed)
        return Stream(portions(train, months), [test])

    return make


def of_classes(load: Callable[[], Rows], months: int, keep: bool) -> Callable[[int], Stream]:
    """New classes every month; with `keep`, rows of the old ones keep coming."""

    def make(seed: int) -> Stream:
        train, test = shuffled(load(), seed)
        groups = np.array_split(np.unique(train[1]), months)
        if not keep:
            return Stream([within(train, group) for group in groups], [test])
        parts = portions(train, months)
        return Stream([within(part, np.concatenate(groups[: at + 1])) for at, part in enumerate(parts)], [test])

    return make


def within(rows: Rows, classes: NDArray[Any]) -> Rows:
    """The rows of some classes."""
    chosen = np.isin(rows[1], classes)
    return rows[0][chosen], rows[1][chosen]


def come_and_go(seed: int) -> Stream:
    """Digits in eight months; four common classes are always there, of the six others two or three a month."""
    train, test = shuffled(load_digits(return_X_y=True), seed)
    random = np.random.default_rng(seed + 1)
    months = []
    for at, part in enumerate(portions(train, 8)):
        rare = random.permutation(np.arange(4, 10))[: 2 + at % 2] if at > 1 else np.arange(4, 10)[3 * at : 3 * at + 3]
        months.append(within(part, np.concatenate([np.arange(4), rare])))
    return Stream(months, [test])


def swapped(seed: int) -> Stream:
    """Bananas whose two labels change places from the third month on; a month is judged by the model before it."""
    train, _ = shuffled(bananas(), seed)
    months = [(x, y if at < 2 else -y) for at, (x, y) in enumerate(portions(train, 6))]
    return Stream(months, months[1:], abrupt=True)


def bikeshare(seed: int) -> Stream:
    """Bicycles an hour in the twelve months of a year, in their order; a quarter of each month is held out."""
    rows = list(csv.DictReader(io.StringIO(packaged("ISLP", "Bikeshare.csv").decode())))
    names = ("hr", "holiday", "weekday", "workingday", "temp", "atemp", "hum", "windspeed")
    months, tests = [], []
    for month in dict.fromkeys(row["mnth"] for row in rows):
        own = [row for row in rows if row["mnth"] == month]
        x = np.array([[float(row[name]) for name in names] for row in own])
        angle = 2 * np.pi * x[:, :1] / 24
        train, test = shuffled(
            (np.hstack([x, np.sin(angle), np.cos(angle)]), np.array([float(row["bikers"]) for row in own])), seed
        )
        months.append(train)
        tests.append(test)
    return Stream(in_deviations(months, months[0][1]), in_deviations(tests, months[0][1]), regression=True)


def in_deviations(parts: list[Rows], first: NDArray[Any]) -> list[Rows]:
    """Targets in deviations of the first month, for learners that do not see to that themselves; R2 stays."""
    return [(x, (y - first.mean()) / first.std()) for x, y in parts]


STREAMS: dict[str, Callable[[int], Stream]] = {
    "digits, new classes monthly": of_classes(lambda: load_digits(return_X_y=True), 5, keep=False),
    "segments, new classes monthly": of_classes(segments, 3, keep=False),
    "digits, old classes keep coming": of_classes(lambda: load_digits(return_X_y=True), 5, keep=True),
    "segments, old classes keep coming": of_classes(segments, 3, keep=True),
    "digits, rare classes come and go": come_and_go,
    "phishing": stationary(phishing),
    "bananas": stationary(bananas),
    "cancer": stationary(lambda: load_breast_cancer(return_X_y=True)),
    "credit": stationary(credit),
    "bananas, labels swapped from month 3 on": swapped,
    "bikeshare": bikeshare,
}


STATIONARY = (
    ("bananas", bananas, 12),
    ("phishing", phishing, 10),
    ("cancer", lambda: load_breast_cancer(return_X_y=True), 8),
    ("credit", credit, 12),
    ("digits", lambda: load_digits(return_X_y=True), 10),
)
"""Streams in which nothing changes, and how many months they are divided into to count false alarms."""


class Hibnn:
    """The estimator as it comes."""

    def __init__(self, stream: Stream, seed: int, method: str = "ibnn", drift: Drift = "follow") -> None:
        kind = ContinualRegressor if stream.regression else ContinualClassifier
        self.estimator = kind(method, random_state=seed, verbose=-1, drift=drift)
        self.alarms = 0

    def learn(self, x: NDArray[Any], y: NDArray[Any]) -> None:
        self.estimator.partial_fit(x, y)
        self.alarms += self.estimator.drift_ is not None

    def predict(self, x: NDArray[Any]) -> NDArray[Any]:
        return self.estimator.predict(x)

    @property
    def size(self) -> int:
        with TemporaryDirectory() as folder:
            self.estimator.save(Path(folder) / "model.hibnn")
            return (Path(folder) / "model.hibnn").stat().st_size


class Incremental:
    """A learner of scikit-learn with `partial_fit`; columns are standardised as the first month has them."""

    def __init__(self, stream: Stream, new: Callable[[], Any], passes: int = 1) -> None:
        self.scaler, self.model, self.passes = StandardScaler(), new(), passes
        self.classes = None if stream.regression else np.unique(np.concatenate([y for _, y in stream.months]))

    def learn(self, x: NDArray[Any], y: NDArray[Any]) -> None:
        if not hasattr(self.scaler, "mean_"):
            self.scaler.fit(x)
        scaled = self.scaler.transform(x)
        for _ in range(self.passes):
            self.model.partial_fit(scaled, y, **({} if self.classes is None else {"classes": self.classes}))

    def predict(self, x: NDArray[Any]) -> NDArray[Any]:
        return self.model.predict(self.scaler.transform(x))

    @property
    def size(self) -> int:
        return held_bytes(self.model)


@dataclass
class Retrained:
    """A network that keeps all rows and is trained anew every month: what storing everything buys."""

    new: Callable[[], Any]
    months: list[Rows] = field(default_factory=list)
    scaler: StandardScaler = field(default_factory=StandardScaler)
    model: Any = None

    def learn(self, x: NDArray[Any], y: NDArray[Any]) -> None:
        self.months.append((x, y))
        self.model = None

    def predict(self, x: NDArray[Any]) -> NDArray[Any]:
        if self.model is None:
            rows = np.concatenate([month for month, _ in self.months])
            labels = np.concatenate([month for _, month in self.months])
            self.model = self.new().fit(self.scaler.fit_transform(rows), labels)
        return self.model.predict(self.scaler.transform(x))

    @property
    def size(self) -> int:
        return held_bytes(self.model) + sum(x.nbytes + y.nbytes for x, y in self.months)


def held_bytes(model: Any) -> int:
    """The bytes of all arrays that a model of scikit-learn holds."""

    def arrays(value: Any) -> Iterable[NDArray[Any]]:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, list | tuple):
            for part in value:
                yield from arrays(part)

    return sum(array.nbytes for value in getattr(model, "__dict__", {}).values() for array in arrays(value))


def contenders(stream: Stream, seed: int) -> dict[str, Callable[[], Any]]:
    """Who learns a stream, by name."""
    hibnn = {
        "hibnn": lambda: Hibnn(stream, seed),
        "hibnn, HIBNN": lambda: Hibnn(stream, seed, "hibnn"),
        "hibnn, VCL": lambda: Hibnn(stream, seed, "vcl"),
    }
    if not stream.regression:
        hibnn["finetune"] = lambda: Hibnn(stream, seed, "finetune")
    if stream.regression:
        network = lambda: MLPRegressor(hidden_layer_sizes=(100,), max_iter=300, random_state=seed)  # noqa: E731
        return hibnn | {
            "MLP": lambda: Incremental(stream, network, PASSES),
            "SGD": lambda: Incremental(stream, lambda: SGDRegressor(random_state=seed), PASSES),
            "retrained": lambda: Retrained(network),
        }
    network = lambda: MLPClassifier((100,), max_iter=300, random_state=seed)  # noqa: E731
    return hibnn | {
        "MLP": lambda: Incremental(stream, network, PASSES),
        "SGD": lambda: Incremental(stream, lambda: SGDClassifier(random_state=seed), PASSES),
        "naive Bayes": lambda: Incremental(stream, GaussianNB),
        "retrained": lambda: Retrained(network),
    }


@dataclass(frozen=True)
class Score:
    """What a contender reached on a stream with one seed."""

    right: list[float]
    seconds: float
    size: int


def judge(stream: Stream, contender: Any) -> Score:
    """Learn all months and score; an abrupt stream is scored month by month, before each is learned."""
    torch.set_num_threads(1)
    seconds, right, ahead = 0.0, list[float](), list[Rows]()
    for at, (x, y) in enumerate(stream.months):
        if stream.abrupt and at > 2:
            right.append(float((contender.predict(x) == y).mean()))
        if stream.regression and at > 0:
            rows = [np.concatenate(parts) for parts in zip((x, y), stream.tests[at], strict=True)]
            ahead.append((contender.predict(rows[0]), rows[1]))
        start = time.process_time()
        contender.learn(x, y)
        seconds += time.process_time() - start
    if not stream.abrupt:
        x, y = (np.concatenate(parts) for parts in zip(*stream.tests, strict=True))
        answer = contender.predict(x)
        right = [float(r2_score(y, answer)) if stream.regression else float((answer == y).mean())]
    if ahead:
        answers, targets = (np.concatenate(parts) for parts in zip(*ahead, strict=True))
        right.append(float(r2_score(targets, answers)))
    return Score(right, seconds, contender.size)


def line(name: str, names: Sequence[str], seeds: int) -> str:
    """A row of the table: a cell for each contender, with seconds and kilobytes."""
    cells = []
    for contender in names:
        scores = []
        for seed in range(seeds):
            stream = STREAMS[name](seed)
            made = contenders(stream, seed).get(contender)
            if made is not None:
                with suppress(InputError):  # finetune does not go on with a task it has learned
                    scores.append(judge(stream, made()))
        if not scores:
            cells.append("-")
            continue
        right = [100 * mean(values) for values in zip(*(score.right for score in scores), strict=True)]
        figures = ", ".join(f"{value:.1f}" for value in right)
        cells.append(f"{figures} ({mean(score.seconds for score in scores):.1f} s, {scores[0].size / 1000:.0f} kB)")
    return f"| {name} | {' | '.join(cells)} |"


def alarms_line(name: str, load: Callable[[], Rows], months: int, seeds: int) -> str:
    """A row of the table of false alarms: months that can raise one, alarms, accuracy with drift followed and off."""
    alarms, right = 0, {"follow": list[float](), "off": list[float]()}
    for seed in range(seeds):
        stream = stationary(load, months)(seed)
        for drift, reached in right.items():
            contender = Hibnn(stream, seed, drift=drift)  # pyright: ignore[reportArgumentType]
            reached += judge(stream, contender).right
            alarms += contender.alarms
    followed, off = (100 * mean(reached) for reached in right.values())
    # the first month is not scored, and the second has nothing to be compared with
    return f"| {name} | {seeds * (months - 2)} | {alarms} | {followed:.2f} | {off:.2f} |"


def draw(table: str, path: Path) -> None:
    """The picture of a table that was printed: a row a stream, a mark a contender, the last of several figures."""
    head, _, *rows = ([cell.strip() for cell in line.strip("| ").split("|")] for line in table.strip().splitlines())
    figure = Figure(figsize=(7.2, 0.36 * len(rows) + 1.3), layout="constrained")
    axis = figure.subplots()
    for number, contender in enumerate(head[1:], 1):
        found = [(FIGURE.findall(row[number].split(" (")[0]), place) for place, row in enumerate(rows)]
        marks = [(float(figures[-1]), place) for figures, place in found if figures]
        size, alpha = (70, 1.0) if contender == "hibnn" else (36, 0.75)
        axis.scatter(
            *zip(*marks, strict=True),
            s=size,
            alpha=alpha,
            marker=MARKERS[number - 1],
            label=contender,
            zorder=4 if contender == "hibnn" else 3,
        )
    axis.set_yticks(range(len(rows)), [row[0] for row in rows])
    axis.invert_yaxis()
    axis.set_xlabel("% right on held-out rows (bikeshare: 100 R2)")
    axis.grid(color="#E4E4E4", zorder=0)
    axis.legend(fontsize=8, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
    figure.savefig(path, dpi=150)


def main() -> None:
    """Print the table, a line a stream as it is made, or draw one that was printed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", nargs="*", default=list(STREAMS))
    parser.add_argument("--contenders", nargs="*", default=["hibnn", "MLP", "SGD", "naive Bayes", "retrained"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--alarms", action="store_true", help="the table of false alarms in its place")
    parser.add_argument("--draw", type=Path, help="a table that was printed; nothing is run")
    parser.add_argument("--picture", type=Path, default=Path("streams.png"))
    given = parser.parse_args()
    if given.draw is not None:
        draw(given.draw.read_text(), given.picture)
        return
    if given.alarms:
        print("| stream | months | alarms | drift followed | off |\n|---|---|---|---|---|")
        for name, load, months in STATIONARY:
            print(alarms_line(name, load, months, given.seeds), flush=True)
        return
    print(f"| stream | {' | '.join(given.contenders)} |\n|{'---|' * (1 + len(given.contenders))}")
    for name in given.streams:
        print(line(name, given.contenders, given.seeds), flush=True)


if __name__ == "__main__":
    main()
