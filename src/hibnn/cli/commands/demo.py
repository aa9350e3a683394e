"""`hibnn demo`: digits come two at a time, nobody tells which two, and nothing old is kept; finetune stands beside it.

scikit-learn's digits need no download. Everything that is printed, drawn and written is measured here and now.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from hibnn import __version__
from hibnn.benchmarks import Scenario
from hibnn.cli.arguments import parse
from hibnn.cli.display import matrix_table, open_display
from hibnn.errors import UserError
from hibnn.files.atomic import check_output
from hibnn.learners.presets import options_for
from hibnn.report.figures import incremental_figure, save_figure
from hibnn.report.incremental import Story, sentences, story_of
from hibnn.report.names import method_title
from hibnn.report.page import write_page
from hibnn.report.style import format_of
from hibnn.runs.experiment import Experiment
from hibnn.runs.folder import RunFolder, is_run_folder
from hibnn.runs.record import RunRecord, read_record
from hibnn.runs.run import run
from hibnn.visible import visible

METHODS = ("ibnn", "finetune")
"""The method that is shown, and the lower bound beside it."""
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class DemoArguments:
    """Digits come two at a time, and nobody tells which two: how many of all ten are known in the end."""

    out: Path = Path("runs/digits")
    """folder for the runs, the picture and the page"""
    seeds: tuple[int, ...] = SEEDS
    """repetitions; one is enough for a look"""
    picture: Path | None = None
    """another file for the picture (.png, .svg or .pdf); the README's is made so"""
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Both methods with every seed, a control with nothing to learn, then sentences, a picture and a page."""
    parsed = parse(DemoArguments, "demo", arguments)
    check(parsed)
    torch.set_num_threads(1)
    console = Console()
    console.print(
        "The digits 0/1, 2/3, 4/5, 6/7, 8/9 come in turn. No old example is kept, and at test time "
        "nobody tells which pair an image is from.",
        highlight=False,
    )
    records = {method: learn(method, parsed, console) for method in METHODS}
    with open_display(True) as display:
        control = run(control_experiment(parsed.seeds[0]), progress=display)
    story = story_of(records["ibnn"], records["finetune"], control)
    for sentence in sentences(story, method_title("ibnn")):
        console.print(sentence, highlight=False, soft_wrap=True)
    write(story, parsed, console)
    return 0


def check(parsed: DemoArguments) -> None:
    """Refuse what would overwrite something else, before anything is run."""
    if not parsed.seeds or len(set(parsed.seeds)) < len(parsed.seeds):
        raise UserError("name at least one seed, and each once.")
    if is_run_folder(parsed.out):
        raise UserError(f"{parsed.out} holds another run, or a damaged one: give --out a new or empty folder.")
    for method in METHODS:
        for seed in parsed.seeds:
            check_folder(folder_of(parsed, method, seed), experiment(method, seed))
    if parsed.picture is not None:
        format_of(parsed.picture)
        check_output(parsed.picture)


def experiment(method: str, seed: int) -> Experiment:
    """A method on the digits in the class scenario, with its defaults."""
    options = options_for(method, "split-digits", scenario=Scenario.CLASS)
    return Experiment(method=method, dataset="split-digits", scenario=Scenario.CLASS, options=options, seed=seed)


def control_experiment(seed: int) -> Experiment:
    """The same network where every label is the same; nothing must be inferred of that."""
    options = options_for("ibnn", "split-digits", scenario=Scenario.CLASS)
    scenario = Scenario.TASK
    return Experiment(method="ibnn", dataset="split-digits-constant", scenario=scenario, options=options, seed=seed)


def folder_of(parsed: DemoArguments, method: str, seed: int) -> Path:
    """Where a run is kept."""
    return parsed.out / f"{method}-{seed}"


def check_folder(folder: Path, wanted: Experiment) -> None:
    """Refuse a folder with another run than the demonstration's, which is always run anew."""
    try:
        RunFolder(folder).check_own()
        RunFolder(folder).finished(wanted)
    except UserError:
        raise UserError(f"{folder} holds another run, or a damaged one: give --out a new or empty folder.") from None


def learn(method: str, parsed: DemoArguments, console: Console) -> list[RunRecord]:
    """The runs of a method; the first is shown task by task."""
    first, *others = parsed.seeds
    console.print(f"[bold]{method_title(method)}[/bold]", highlight=False)
    with open_display(parsed.quiet) as display:
        result = run(experiment(method, first), folder_of(parsed, method, first), progress=display, force=True)
    console.print(matrix_table(result["accuracy_matrix"], "accuracy in %, the task not being told"))
    for seed in others:
        with Console(stderr=True).status(f"the same with seed {seed}"), open_display(True) as silent:
            run(experiment(method, seed), folder_of(parsed, method, seed), progress=silent, force=True)
    records = [read_record(folder_of(parsed, method, seed)) for seed in parsed.seeds]
    return [record for record in records if record is not None]


def write(story: Story, parsed: DemoArguments, console: Console) -> None:
    """The picture and the page, and where they are."""
    figure, said = incremental_figure(story), description(story)
    pictures = [parsed.out / "demo.png", *([parsed.picture] if parsed.picture else [])]
    for picture in pictures:
        save_figure(figure, picture, said)
    page = parsed.out / "report.html"
    write_page([folder_of(parsed, method, seed) for method in METHODS for seed in parsed.seeds], page)
    for sentence in (
        f"The picture is in {' and '.join(map(str, pictures))}.",
        f"The page with everything is {page.resolve()}: open it in a browser.",
    ):
        console.print(visible(sentence), highlight=False, markup=False, soft_wrap=True)


def description(story: Story) -> str:
    """What the picture was made of and shows, kept inside it, so that texts beside it can be checked."""
    made: dict[str, Any] = {"hibnn": __version__, "command": "hibnn demo", "seeds": list(story.seeds)}
    return json.dumps(made | {"experiments": digests(story.seeds), "numbers": story.numbers()})


def digests(seeds: Sequence[int]) -> list[str]:
    """The experiments of the demonstration, by their content: other defaults make another picture."""
    wanted = [experiment(method, seed) for method in METHODS for seed in seeds]
    return [each.digest for each in (*wanted, control_experiment(seeds[0]))]
