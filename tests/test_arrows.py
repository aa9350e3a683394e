"""Imports within the package point one way: a part may use only those that stand before it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import hibnn

ROOT = Path(hibnn.__file__).parent
ORDER = (
    "errors", "visible", "sizes", "inferences", "neurons", "denormals", "streams", "progress", "checking", "registry",
    "files", "distributions", "datasets", "nn", "benchmarks", "learners", "factorisation", "plugins", "tasks", "absent",
    "coverage", "continual", "evaluation", "runs", "sweeps", "estimators", "report", "reproduce", "cli",
)  # fmt: skip
DOORS = ("__init__.py", "__main__.py")
"""What a user imports or starts; these may name any part."""


def imported(source: str) -> Iterator[tuple[int, str]]:
    """The line and the name of everything imported from this package, wherever in a file the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole package"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.startswith("hibnn."))


def wrong_way(part: str, source: str) -> list[str]:
    """The imports of a file of some part that lead to a later part."""
    lines = [(line, name, name.split(".")[1]) for line, name in imported(source)]
    return [
        f"line {line}: {part} imports {name}"
        for line, name, other in lines
        if other not in (part, "__version__") and ORDER.index(other) > ORDER.index(part)
    ]


def test_imports_point_one_way():
    files = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).as_posix() not in DOORS]
    found = []
    for path in sorted(files):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        found += [f"{path.relative_to(ROOT)}, {line}" for line in wrong_way(part, path.read_text())]
    assert not found, "\n".join(found)


def test_imports_in_functions_and_for_types_alone_count_too():
    late = "def f():\n    from hibnn.cli import display"
    for_types = "if TYPE_CHECKING:\n    from hibnn.runs.run import run"
    assert wrong_way("runs", late) == ["line 2: runs imports hibnn.cli.display"]
    assert wrong_way("nn", for_types) == ["line 2: nn imports hibnn.runs.run.run"]
    assert wrong_way("cli", late + "\n" + for_types) == []
