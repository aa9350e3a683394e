"""Three tasks of handwritten digits, one after the other: answers with their uncertainty, and nothing old is kept.

python examples/quickstart.py
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from hibnn import ContinualClassifier

TASKS = {"0 to 2": (0, 1, 2), "3 to 5": (3, 4, 5), "6 to 8": (6, 7, 8)}


def main() -> None:
    """Learn each task, then ask about all of them, and about a digit that was never shown."""
    x, y = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
    model = ContinualClassifier(epochs=30, verbose=False, random_state=0)
    for name, digits in TASKS.items():
        rows = np.isin(train_y, digits)
        model.partial_fit(train_x[rows], train_y[rows], task=name)
        print(f"learned the digits {name}: {model.n_active_[0]:.0f} neurons in use")

    for name, digits in TASKS.items():
        rows = np.isin(test_y, digits)
        told, untold = (model.score(test_x[rows], test_y[rows], task=task) for task in (name, None))
        print(f"digits {name}: accuracy {told:.2f} if the task is told, {untold:.2f} if it must be inferred")

    ood = model.predict_ood(test_x)
    nines, others = (f"{ood[some].mean():.0%}" for some in (test_y == 9, test_y < 9))
    print(f"like none of the tasks: {nines} of the nines, which were never shown, and {others} of the others")

    rows = np.isin(test_y, TASKS["6 to 8"])
    known, unknown = (model.predict_uncertainty(test_x[some], task="6 to 8") for some in (rows, test_y == 9))
    print(f"mean uncertainty in nats: {known.total.mean():.2f} for 6 to 8, {unknown.total.mean():.2f} for nines")
    right = model.predict(test_x[rows], task="6 to 8") == test_y[rows]
    sure = known.total < np.median(known.total)
    print(f"of 6 to 8, {right[sure].mean():.0%} of the surer half are right, {right[~sure].mean():.0%} of the rest")


if __name__ == "__main__":
    main()
