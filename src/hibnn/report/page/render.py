"""From runs to the page: values into a template that escapes every word.

The page carries its style and script, whose hashes its Content-Security-Policy names; nothing else may run in it, and
nothing may be fetched. A page that is served live may ask its own server whether there is a newer one.
"""

import base64
import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from hibnn import __version__
from hibnn.errors import UserError
from hibnn.files.atomic import atomic_write
from hibnn.learners.method import BLACK, GREY, Look
from hibnn.report.contenders import Contender, accuracy_text, contenders
from hibnn.report.names import benchmark_title, in_order, label, method_title, shown_method, widths_text
from hibnn.report.page.commands import command_for
from hibnn.report.page.download import data_link, results_csv
from hibnn.report.page.figures import accuracy_figures, growth_figures, reliability_figures, sequence_figures
from hibnn.report.page.groups import columns_of, mean_matrix, neurons
from hibnn.report.page.summary import headline, paper_tables, verdict, wins
from hibnn.report.page.svg import css_class, swatch
from hibnn.report.style import looks
from hibnn.report.tables.ledger import ledger_table
from hibnn.report.tables.published import published_at
from hibnn.runs.groups import Group, group_by_setting
from hibnn.runs.index import records_below
from hibnn.runs.record import RunRecord, finite
from hibnn.runs.status import Status

LIGHTER = {BLACK: "#E8E8E8", GREY: "#A8A8A8", "#0072B2": "#4AA8E8", "#8A7F00": "#F0E442", "#D55E00": "#FF8A3D"}
"""Colours that are too dark for a dark page, and what stands for them there."""


def write_page(folders: Sequence[Path], path: Path) -> int:
    """Write the page of all runs below some folders; returns how many there are."""
    records = records_below(folders)
    if not records:
        raise UserError(f"there are no runs below {', '.join(map(str, folders))}.")
    text = page_of(records, folders)
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return len(records)


def page_of(records: Sequence[RunRecord], folders: Sequence[Path], live_version: str = "") -> str:
    """The page as text; with a version it asks its server for newer ones."""
    damaged = [record for record in records if record.status is Status.DAMAGED]
    whole = [record for record in records if record.status is not Status.DAMAGED]
    groups = in_order(group_by_setting(whole, read_outs=True))
    style, script = _asset("page.css") + method_colours(), _asset("page.js")
    text = _template().render(
        policy=_policy(style, script, bool(live_version)),
        style=Markup(style),
        script=Markup(script),
        live_version=live_version,
        version=__version__,
        written=datetime.now(UTC),
        command=shlex.join(["hibnn", "report", *map(str, folders), "-o", "report.html"]),
        counts=Counter(str(record.status) for record in whole),
        damaged=damaged,
        groups=groups,
        seconds=sum(sum(group.values("seconds")) for group in groups if not group.read_out),
        benchmarks=[benchmark_title(name) for name in dict.fromkeys(group.dataset for group in groups)],
        methods=[method_title(name) for name in dict.fromkeys(map(shown_method, groups))],
        headline=headline(groups),
        wins=(won := wins(groups)),
        contested=any(win.contested for win in won),
        paper_tables=paper_tables(groups),
        ledger=ledger_table(groups),
        published_at=published_at,
        verdict_of=_verdict,
        verdicts={group.number: _verdict(ours) for group in groups for ours in contenders([group])},
        figures=[
            ("accuracy", "Accuracy by method", accuracy_figures(groups)),
            ("sequence", "Accuracy as tasks arrive", sequence_figures(groups)),
            ("growth", "How the network grew", growth_figures(groups)),
            ("reliability", "As right as it is sure?", reliability_figures(groups)),
        ],
        explorer=explorer_data(groups),
        environments=(environments := environments_of(whole)),
        environment_number=lambda record: environments[environment_text(record)].number,
        command_for=command_for,
        css_class=css_class,
        columns=columns_of(groups),
        csv=data_link(results_csv(groups)),
    )
    return text.encode(errors="replace").decode()  # names of files need not be UTF-8


def explorer_data(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Mean accuracy matrices in hundredths of a percent, with the neurons after each task."""
    return [
        {
            "place": f"{benchmark_title(group.dataset)}, {group.scenario}",
            "name": label(group),
            "matrix": [[None if np.isnan(value) else round(10_000 * value) for value in row] for row in matrix],
            "neurons": None if (used := neurons(group)) is None else [round(value, 1) for value in used],
        }
        for group in groups
        if (matrix := mean_matrix(group)) is not None and len(matrix) > 1
    ]


def method_colours() -> str:
    """A rule for each method's colour, light and dark."""
    return "".join(_colour_rule(css_class(name), style) for name, style in looks().items()) + _colour_rule(
        "m-other", Look("")
    )


def duration(seconds: float | None) -> str:
    """A time that a person can read."""
    if seconds is None:
        return "-"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("hibnn.report.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": _percent,
        "duration": duration,
        "pretty": _pretty,
        "number": lambda numbers, name: finite(numbers.get(name)),
        "swatch": swatch,
        "called": method_title,
        "benchmark": benchmark_title,
        "label": label,
        "shown": shown_method,
        "accuracy": accuracy_text,
        "neurons": neurons,
        "widths": widths_text,
    }
    return environment.get_template("page.html.j2")


def _verdict(ours: Contender) -> str:
    first = ours.groups[0]
    return str(verdict(ours, published_at(*first.place, shown_method(first))[0]) or "")


@dataclass(frozen=True)
class Surroundings:
    """An environment, its number on the page, and how many runs were made in it."""

    number: int
    values: dict[str, Any]
    runs: int


def environments_of(records: Sequence[RunRecord]) -> dict[str, Surroundings]:
    """Each environment once, the commonest first."""
    seen = Counter(environment_text(record) for record in records).most_common()
    return {text: Surroundings(place, json.loads(text), count) for place, (text, count) in enumerate(seen, start=1)}


def environment_text(record: RunRecord) -> str:
    """The environment of a run as one text; of runs that stored none only the version of hibnn is known."""
    known = record.environment or {"hibnn": record.config.get("hibnn", "unknown")}
    return json.dumps(known, sort_keys=True)


def _policy(style: str, script: str, live: bool) -> str:
    own = f"style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:"
    return f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'" + ("; connect-src 'self'" if live else "")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    return files("hibnn.report.page").joinpath(name).read_text(encoding="utf-8")


def _colour_rule(name: str, style: Look) -> str:
    return f".{name}{{--c:light-dark({style.colour},{LIGHTER.get(style.colour, style.colour)})}}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def _pretty(value: Any) -> str:
    """A setting as a person would write it."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return str(value)
