"""What simple classifiers make of the features of CIFAR-10, beside which ours must be seen.

python benchmarks/photographs.py

Streaming LDA (Hayes and Kanan 2020), which may see classes in any order; Gaussians whose covariances are between the
class's own and the one all share (Friedman 1989), which may too; and, on all classes at once, logistic regression. The
shrinkage and the penalty are chosen on a tenth of the training rows. Accuracy over ten classes, and among the two of
the task if that is told.
"""

import warnings

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from hibnn.datasets import hold_out, load

CLASSES, DIAGONAL = 10, 0.05
OWN = (0.0, 0.05, 0.1, 0.15, 0.2)
PENALTIES = (1e-3, 3e-3, 1e-2)


def slda(x: np.ndarray, y: np.ndarray, asked: np.ndarray, shrinkage: float = 1e-4) -> np.ndarray:
    """Linear scores from the means of the classes and the covariance they share, as its authors' program has them."""
    means, own, _ = moments(x, y)
    shared = (1 - shrinkage) * np.mean(own, 0) + shrinkage * np.eye(x.shape[1])
    weights = np.linalg.solve(shared, means.T)
    return asked @ weights - 0.5 * (means.T * weights).sum(0)


def shrunk(x: np.ndarray, y: np.ndarray, asked: np.ndarray, own_share: float) -> np.ndarray:
    """log N(x; m_c, S_c), where S_c is so much the class's own, the rest shared, and 5 % of it diagonal."""
    means, own, counts = moments(x, y)
    shared = np.average(own, 0, counts)
    scores = []
    for mean, covariance in zip(means, own, strict=True):
        mixed = own_share * covariance + (1 - own_share) * shared
        root = cholesky((1 - DIAGONAL) * mixed + DIAGONAL * np.diag(np.diag(shared)), lower=True)
        white = solve_triangular(root, (asked - mean).T, lower=True)
        scores.append(-0.5 * (white**2).sum(0) - np.log(np.diag(root)).sum())
    return np.stack(scores, 1)


def moments(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, covariance and number of rows of every class."""
    rows = [x[y == label] for label in range(CLASSES)]
    own = [np.cov(part.T, bias=True) for part in rows]
    return np.stack([part.mean(0) for part in rows]), np.stack(own), np.array([len(part) for part in rows])


def logistic(x: np.ndarray, y: np.ndarray, asked: np.ndarray, penalty: float) -> np.ndarray:
    """Multinomial logistic regression of standardised columns."""
    mean, scale = x.mean(0), x.std(0)
    model = LogisticRegression(C=penalty, max_iter=300, tol=1e-3)
    return model.fit((x - mean) / scale, y).decision_function((asked - mean) / scale)


def accuracies(scores: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """In percent: among all classes, and among the two of the task."""
    pairs = scores.reshape(len(y), -1, 2)[np.arange(len(y)), y // 2]
    return 100 * float((scores.argmax(1) == y).mean()), 100 * float((pairs.argmax(1) == y % 2).mean())


def main() -> None:
    """A line a classifier; shares and penalties by held-out rows, then all training rows and the test rows."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = load("cifar10-features")
    part, held = hold_out(data.train_y, seed=0)
    for name, power in (("features", 1.0), ("roots of features", 0.5)):
        x, asked = (array.astype(np.float64) ** power for array in (data.train_x, data.test_x))
        y = data.train_y
        say(f"{name}: streaming LDA", slda(x, y, asked), data.test_y)
        for title, score, choices in (("shrunk Gaussians", shrunk, OWN), ("logistic regression", logistic, PENALTIES)):
            found = [accuracies(score(x[part], y[part], x[held], choice), y[held])[0] for choice in choices]
            chosen = choices[int(np.argmax(found))]
            print("   held-out rows:", ", ".join(f"{c:g}: {a:.2f}" for c, a in zip(choices, found, strict=True)))
            say(f"{name}: {title} ({chosen:g})", score(x, y, asked, chosen), data.test_y)


def say(title: str, scores: np.ndarray, y: np.ndarray) -> None:
    """Print a line."""
    everything, told = accuracies(scores, y)
    print(f"{title}: {everything:.2f}, {told:.2f} if the task is told", flush=True)


if __name__ == "__main__":
    main()
