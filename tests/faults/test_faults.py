"""Whatever a file holds and whatever is said, a command ends well or in one sentence, and spoils nothing."""

import random
from collections import Counter

import pytest

from faults.cases import LINES, OUTPUTS, argument_cases, file_cases
from faults.sandbox import SECONDS, Case, Sandbox
from hibnn.cli.main import COMMANDS

SLOW = ("demo", "watch", "bench", "export", "figures")


@pytest.fixture(scope="module")
def sandbox():
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()


def check(sandbox, cases):
    """Try all cases, print how many of which kind there were, and name those that went wrong."""
    wrong = [f"{case.kind}: {case.what}: {said}" for case in cases for said in sandbox.complaints(case)]
    for kind, count in sorted(Counter(case.kind for case in cases).items()):
        print(f"{count:5d} {kind}")
    print(f"{len(cases):5d} in all, {len(wrong)} complaints")
    assert not wrong, "\n".join(wrong)


def at_most(each, cases):
    """A seeded choice of so many cases of each kind."""
    cases = [*cases]
    random.Random(0).shuffle(cases)
    seen = Counter()
    chosen = []
    for case in cases:
        seen[case.kind] += 1
        if seen[case.kind] <= each:
            chosen.append(case)
    return chosen


def test_a_few_faults_of_every_kind_end_in_a_sentence(sandbox):
    quick = [case for case in argument_cases() if case.words[0] not in SLOW and not case.patient]
    check(sandbox, at_most(1, [*file_cases(1, 1), *quick]))


def test_there_is_a_line_for_every_command():
    assert LINES.keys() == COMMANDS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "watch"])
def test_the_line_of_every_command_works(sandbox, command):
    words = tuple(LINES[command].split())
    seconds = 120.0 if command in SLOW else SECONDS  # what learns for a while, or measures
    case = Case("lines", command, words, outputs=OUTPUTS, succeeds=True, seconds=seconds)
    assert not sandbox.complaints(case)


@pytest.mark.slow
def test_every_spoilt_file_ends_in_a_sentence(sandbox):
    check(sandbox, [*file_cases(bytes_each=3, values_each=5)])


@pytest.mark.slow
def test_every_hostile_argument_ends_in_a_sentence(sandbox):
    check(sandbox, at_most(120, argument_cases()))
