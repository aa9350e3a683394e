"""A small study for tests of what reads runs: run folders from real experiments, without running anything."""

import json
from pathlib import Path

from folders import write_run


def fabricate(folder: Path, acc: float | None = 0.9, status: str | None = None, seed: int = 0, **changes) -> Path:
    """A run of the IBNN on split MNIST, width 100, unless changed."""
    said = None if status is None else {"status": status, "message": "as the test says"}
    usual = {"method": "ibnn", "dataset": "split-mnist"}
    return write_run(folder, acc, said, seed, **(usual | changes))


def rewrite(folder: Path, name: str, **changes) -> None:
    """Change what a JSON file says, as another program or another version would have written it."""
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def small_study(folder: Path) -> Path:
    """Two methods on a benchmark of the paper; runs under way, failed and damaged; and a foul name."""
    for seed, acc in enumerate((0.930, 0.934, 0.926)):
        fabricate(folder / f"ibnn-{seed}", acc, seed=seed)
        fabricate(folder / f"vcl-{seed}", acc - 0.1, seed=seed, method="vcl")
        fabricate(folder / f"ibnn-class-{seed}", acc - 0.3, seed=seed, scenario="class")
    fabricate(folder / "ibnn-3", None, "running", seed=3)
    fabricate(folder / "gem-0", None, "failed", method="gem")
    fabricate(folder / "<script>alert(1)</script>", 0.8, seed=7)
    rewrite(folder / "<script>alert(1)<" / "script>", "config.json", method="<script>alert(2)</script>")
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{")
    return folder
