"""What differs from the paper, stated beside the cells it concerns: marks in a table, sentences below it."""

from collections.abc import Iterable

NOTES = {
    "a": "CL3: the paper's heads have 10 outputs each; ours have the task's own classes, so no answer lies outside of "
    "the task whose head was chosen.",
    "b": "DEN: in our reading nothing that a time stamp holds changes any more, so with stamps it cannot forget; in "
    "the publication small movements stay. Its outputs are a softmax, whose entropy chooses the head.",
    "c": "GEM: the quadratic program's ridge is 1e-10 of its trace, the published program's 1e-3 whatever the scale.",
    "d": "SVD: 10 epochs of maximum likelihood and 40 of the bound; the paper's has 100.",
    "e": "Pruned weights lose mean and variance; the authors' program leaves the variance, which goes on adding noise. "
    "Every other percentage of the paper's grid, 20 epochs (the paper: 200 for the IBNN). Percentages are of the "
    "weights of 200 neurons a layer, as in the paper, also where held-out rows gave a network a third of them; in "
    "percent of its own it falls sooner than MFVI. MFVI of that width was not pruned.",
    "f": "Backgrounds of noise and images are made anew, not the authors' files.",
    "g": "IBNN and HIBNN: held-out rows size the layers, and a task is answered by the neurons it had; the paper's "
    "prior sizes them, and it has no time stamps. Settings were found on validation data (`search.md`).",
    "h": "EWC, SI and GEM: one hidden layer as in the paper's table, settings of Hsu et al., whose networks have two.",
}
"""The sentences; `differences` says which concern a cell."""
HEADS = ("vcl", "ibnn", "den", "hibnn")


def differences(method: str, dataset: str, scenario: str, pruned: bool = False) -> str:
    """The marks of a cell, in order."""
    base = method.split("-")[0]
    facts = {
        "a": scenario == "class" and base in HEADS and dataset.startswith("split"),
        "b": base == "den",
        "c": base == "gem",
        "d": base == "svd",
        "e": pruned,
        "f": dataset in ("split-mnist-noise", "split-mnist-images"),
        "g": base in ("ibnn", "hibnn"),
        "h": base in ("ewc", "si", "gem"),
    }
    return "".join(mark for mark, holds in facts.items() if holds)


def explained(marks: Iterable[str]) -> str:
    """The sentences of all marks that occur, a line each."""
    used = sorted(set("".join(marks)))
    return "\n".join(f"- **{mark}** {NOTES[mark]}" for mark in used)
