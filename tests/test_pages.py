"""The pages' code is run as it stands there: the tutorial's commands in their order, plug-ins, data of one's own."""

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
import yaml
from PIL import Image

from checks import check_learner
from hibnn import plugins
from hibnn.benchmarks import find_benchmark
from hibnn.benchmarks.registry import BENCHMARKS
from hibnn.cli.commands import demo
from hibnn.cli.main import main
from hibnn.datasets import load
from hibnn.learners.registry import METHODS

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r'^```(\w+) title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, title and text of every titled block of a page."""
    return [match.groups() for match in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))]


def execute(line: str, capsys) -> str:
    """A command's output, if it ends with code 0; our own commands need no new process."""
    words = shlex.split(line)
    if words[0] != "hibnn":
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    with pytest.raises(SystemExit) as ended:
        main(words[1:])
    printed = capsys.readouterr()
    assert ended.value.code == 0, printed.err
    return printed.out + printed.err


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]+", text))


def test_the_tutorial_runs_as_written_and_says_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said = ""
    for language, title, text in blocks("tutorial.md"):
        if title == "says":
            assert words_of(text) <= words_of(said)
        elif language == "python":
            exec(compile(text, "tutorial.md", "exec"), {})
        else:
            said = "\n".join(execute(line, capsys) for line in text.splitlines())
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 301
    assert (tmp_path / "customers.onnx").stat().st_size > 0


def test_the_readme_says_what_to_install_before_anything_else_of_own_data():
    section = (DOCS.parent / "README.md").read_text(encoding="utf-8").split("## On your own data")[1]
    first = re.search(r"```\n(.*?)```", section, re.DOTALL)
    assert first is not None
    assert first[1] == "pip install '.[tabular]'\n"
    assert section.strip().startswith("```")


@pytest.fixture
def extending(tmp_path, monkeypatch, forget_plugins):
    """The files of the page in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    for _, title, text in blocks("extending.md"):
        if "." in title:
            Path(title).write_text(text)
    return tmp_path


def commands(about: str) -> list[str]:
    """The page's commands that name a plug-in."""
    lines = [line for _, title, text in blocks("extending.md") if title == "run" for line in text.splitlines()]
    return [line for line in lines if f"--plugin {about}" in line]


def test_the_method_of_the_page_is_a_learner_from_a_file_outside_the_package(extending, capsys):
    for line in commands("l2.py"):
        assert "l2" in execute(line, capsys)
    check_learner("l2", extending)
    names: dict = {}
    exec((extending / "test_l2.py").read_text(), names)
    assert callable(names["test_l2_is_a_learner"])


def test_the_benchmark_of_the_page_runs_from_a_file_outside_the_package(extending, monkeypatch, capsys):
    small = load("digits")
    monkeypatch.setattr("hibnn.datasets.load", lambda name: small)  # in the place of MNIST, which may not be there
    (line,) = commands("rotated.py")
    execute(line, capsys)
    result = json.loads((extending / "runs/rotated/result.json").read_text())
    assert (result["dataset"], len(result["accuracy_matrix"])) == ("rotated-mnist", 2)
    straight, turned = (task.train.load().x[0] for task in find_benchmark("rotated-mnist").make(0, 2))
    assert not np.array_equal(straight, turned)


def test_the_entry_points_of_the_page_name_what_its_files_define(extending):
    groups = tomllib.loads((extending / "pyproject.toml").read_text())["project"]["entry-points"]
    for file in ("l2.py", "rotated.py"):
        plugins.load_plugin(Path(file))
    assert groups["hibnn.methods"].keys() == METHODS.added.keys()
    assert groups["hibnn.benchmarks"].keys() == BENCHMARKS.added.keys()
    assert {value.split(":")[1] for group in groups.values() for value in group.values()} == {"METHOD", "BENCHMARK"}


def test_the_data_of_the_page_are_learned(extending, capsys):
    exec(compile((extending / "own_arrays.py").read_text(), "extending.md", "exec"), {})
    assert float(capsys.readouterr().out) > 0.8
    for name in ("spring", "spring-test", "summer"):
        rows = [f"{number},{number % 2},{('bee', 'wasp')[number % 2]}" for number in range(40)]
        Path(f"{name}.csv").write_text("\n".join(["length,stripes,species", *rows]))
    line = "hibnn run --dataset seasons.toml --scenario task --method finetune --epochs 1 --quiet --json"
    assert json.loads(execute(line, capsys))["dataset"] == "seasons.toml"


def test_the_ten_lines_for_photographs_learn_two_months_of_them():
    """Made-up pictures: each kind is bright in one of six places, which a network of one pooling finds."""
    ((_, _, text),) = blocks("photographs.md")
    random = np.random.default_rng(0)
    months = (("cat", "dog", "cow"), ("ship", "car", "train"))
    kinds = {kind: place for place, kind in enumerate(months[0] + months[1])}

    def pictures(labels):
        made = random.random((len(labels), 3, 24, 16), np.float32)
        for picture, label in zip(made, labels, strict=True):
            picture[:, kinds[label] // 2 * 8 :, kinds[label] % 2 * 8 :][:, :8, :8] += 1
        return made

    january_labels, february_labels, new_labels = (np.repeat(some, 40) for some in (*months, months[0] + months[1]))
    names = {
        "network": torch.nn.Sequential(torch.nn.AvgPool2d(8), torch.nn.Flatten()),
        "january": pictures(january_labels),
        "january_labels": january_labels,
        "february": pictures(february_labels),
        "february_labels": february_labels,
        "new": pictures(new_labels),
    }
    exec(compile(text, "photographs.md", "exec"), names)
    assert np.mean(names["model"].predict(names["embed"](names["new"], names["network"])) == new_labels) > 0.95


def month(random, kinds, rows=150):
    """A made-up file: two measurements that tell the kinds apart, a word, and the kind."""
    places = {"bolt": (0, 0), "nut": (6, 0), "washer": (0, 6), "rivet": (6, 6)}
    kind = random.choice(list(kinds), rows)
    length, width = (np.array([places[name] for name in kind]) + random.normal(size=(rows, 2))).T
    shop = random.choice(["north", "south"], rows)
    return pandas.DataFrame({"length": length, "width": width, "shop": shop, "kind": kind})


def test_the_front_page_tells_a_story_that_is_true(tmp_path, monkeypatch, capsys):
    """New kinds come in March; old files are deleted as soon as they are learned; April asks about all kinds."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    kinds = {"january": ("bolt", "nut"), "february": ("bolt", "nut"), "march": ("washer", "rivet")}
    for name, some in kinds.items():
        month(random, some).to_csv(f"{name}.csv", index=False)
    april = month(random, ("bolt", "nut", "washer", "rivet"))
    april.drop(columns="kind").to_csv("april.csv", index=False)
    (_, _, commands), (_, _, python) = blocks("index.md")
    for line in commands.splitlines():
        execute(line, capsys)
        if line.startswith("hibnn fit"):
            Path(line.split()[2]).unlink()
    assert np.mean(pandas.read_csv("answers.csv")["label"] == april["kind"]) > 0.95
    names: dict = {}
    exec(compile(python, "index.md", "exec"), names)
    assert np.mean(names["model"].predict(names["april"]) == april["kind"]) > 0.95


def test_the_front_page_opens_with_the_story_and_has_the_picture():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert text.startswith("# One file a month\n\nEvery month you get a table")
    assert text.index("hibnn fit january.csv") < text.index("](images/demo.png)") < text.index("## Pages")


def picture() -> dict:
    """What the picture of README and front page says of itself."""
    return json.loads(Image.open(DOCS / "images" / "demo.png").text["Description"])


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_numbers_beside_the_picture_are_those_it_was_made_of(page):
    text = " ".join((DOCS.parent / page).read_text(encoding="utf-8").split())
    numbers = picture()["numbers"]
    for share in ("both", "density", "network", "finetune"):
        assert f"{numbers[share]} %" in text
    *first, last = numbers["neurons"]
    assert f"{', '.join(map(str, first))} and {last} neurons" in text
    assert "make picture" in text
    if page == "docs/index.md":
        assert f"{numbers['kilobytes']} kB" in text
        start, end = numbers["so_far"][0], numbers["so_far"][-1]
        assert f"After the first file {start} %" in text
        assert f"after the fifth {end} %" in text


def test_the_picture_is_of_the_demonstration_as_it_is():
    """Other defaults, seeds or methods would make another one: `make picture` draws it anew."""
    made = picture()
    assert made["seeds"] == list(demo.SEEDS)
    assert made["experiments"] == demo.digests(demo.SEEDS)
    assert "--picture docs/images/demo.png" in (DOCS.parent / "Makefile").read_text()


@pytest.mark.slow
def test_the_picture_shows_what_the_demonstration_measures(tmp_path):
    assert demo.main(["--out", str(tmp_path / "runs"), "--picture", str(tmp_path / "demo.png"), "--quiet"]) == 0
    anew = json.loads(Image.open(tmp_path / "demo.png").text["Description"])["numbers"]
    shown = picture()["numbers"]
    for name in ("both", "density", "finetune"):
        assert anew[name] == pytest.approx(shown[name], abs=0.5)
    assert anew["network"] == pytest.approx(shown["network"], abs=5)
    assert anew["neurons"] == pytest.approx(shown["neurons"], abs=6)


def test_every_page_stands_once_in_a_group():
    """Use, understand, research; behind the front page."""
    front, *groups = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text())["nav"]
    assert list(front.values()) == ["index.md"]
    assert [name for group in groups for name in group] == ["Use", "Understand", "Research"]
    pages = [page for group in groups for entries in group.values() for entry in entries for page in entry.values()]
    assert sorted(pages) == sorted(path.name for path in DOCS.glob("*.md") if path.name != "index.md")
