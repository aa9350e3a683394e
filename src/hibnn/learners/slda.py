"""Streaming linear discriminant analysis: a running mean for every class and one covariance for all of them.

    log p(y | x) = w_y . x + b_y + const,     w_y = P mean_y,     b_y = - 1/2 mean_y . P mean_y
    P = [ (1 - e) S + e I ]^-1                                            (Hayes and Kanan 2020, equations 2 and 3)

Every row is seen once. Before the mean of its class moves, it adds d = x - mean_y to the covariance S = scatter / n:

    scatter += c / (c + 1) d d^T,     mean_y += d / (c + 1),     c: rows of its class so far          (Welford 1962)

so that S is exactly the covariance within classes, whatever the order of the rows. The paper has the number of all rows
in the place of c, which counts the first row of a class by its distance from the origin; its classes begin with means
computed beforehand. The rows of an epoch are taken at once, with the same result.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import one_hot

from hibnn.benchmarks.base import Split
from hibnn.learners.base import Learner, Prediction, Setting, State
from hibnn.learners.method import SKY, Card, Look, Method, no_changes
from hibnn.learners.network import stored_counts
from hibnn.learners.options import MethodOptions, check_option
from hibnn.nn.layout import Layout


@dataclass(frozen=True)
class SLDAOptions(MethodOptions):
    """How far the covariance is shrunk."""

    shrinkage: float = 1e-4
    """the share of the identity in the covariance"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self, "shrinkage", 0 < self.shrinkage <= 1, "above 0 and at most 1")


class SLDA(Learner):
    """Counts, means and one scatter matrix, in double precision because they are summed over all rows."""

    supports_revisits = True

    def __init__(self, options: SLDAOptions, setting: Setting) -> None:
        super().__init__(setting)
        self.options = options
        self.x = torch.zeros(0, setting.inputs, dtype=torch.float64, device=setting.device)
        self.y = torch.zeros(0, dtype=torch.int64, device=setting.device)
        self.counts = self.x.new_zeros(0)
        self.means = self.x.new_zeros(0, setting.inputs)
        self.scatter = self.x.new_zeros(setting.inputs, setting.inputs)
        self.precision: Float[Tensor, "inputs inputs"] | None = None
        """P for the scatter as it stands; made when first asked for"""

    @property
    def epochs(self) -> int:
        return 1

    def attach(self, split: Split, task: int) -> None:
        self.x = torch.from_numpy(split.x).double().to(self.setting.device)
        self.y = torch.from_numpy(split.y).to(self.setting.device) + self.first_class(task)

    def first_class(self, task: int) -> int:
        """Where the classes of a task begin; where one head serves all tasks, they are the same."""
        return 0 if self.setting.layout is Layout.SHARED else sum(self.head_sizes[:task])

    def prepare(self) -> None:
        missing = self.first_class(self.task) + self.head_sizes[self.task] - len(self.counts)
        if missing > 0:
            self.counts = torch.cat([self.counts, self.counts.new_zeros(missing)])
            self.means = torch.cat([self.means, self.means.new_zeros(missing, self.setting.inputs)])

    def epoch(self, number: int) -> dict[str, float]:
        for label in self.y.unique().tolist():
            self.see(self.x[self.y == label], label)
        self.precision = None
        return {"trace": float(self.scatter.trace() / self.counts.sum())}

    def see(self, rows: Float[Tensor, "rows inputs"], label: int) -> None:
        """Rows of one class, one after another: what adding up the steps of all of them comes to (Chan et al. 1983)."""
        before, new = self.counts[label], len(rows)
        mean = rows.mean(0)
        centred, shift = rows - mean, mean - self.means[label]
        self.scatter += centred.T @ centred + torch.outer(shift, shift) * (before * new / (before + new))
        self.means[label] += shift * (new / (before + new))
        self.counts[label] += new

    def end(self) -> None:
        self.x, self.y = self.x[:0], self.y[:0]

    def scores(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, "rows classes"]:
        """w_y . x + b_y of all classes; -inf for one of which no row has come."""
        precision = self.inverse() if self.precision is None else self.precision
        self.precision = precision
        weights = self.means @ precision
        made = x.double() @ weights.T - 0.5 * (weights * self.means).sum(1)
        return made.masked_fill(self.counts == 0, -torch.inf)

    def inverse(self) -> Float[Tensor, "inputs inputs"]:
        """P for the scatter as it stands."""
        e, identity = self.options.shrinkage, torch.eye(len(self.scatter), dtype=torch.float64)
        covariance = self.scatter / self.counts.sum().clamp(min=1)
        return torch.linalg.inv((1 - e) * covariance + e * identity.to(covariance))

    def predict_batch(self, x: Tensor, head: int, generator: torch.Generator) -> Prediction:
        scores = self.scores(x)
        if self.setting.layout is Layout.MULTI:
            first = self.first_class(head)
            scores = scores[:, first : first + self.head_sizes[head]]
        scores = torch.where(scores.isfinite().any(1, keepdim=True), scores, 0.0)  # of a task without any row
        answers = scores.softmax(-1).float()
        votes = one_hot(answers.argmax(-1), answers.shape[-1]).to(answers)
        return Prediction(answers, torch.special.entr(answers).sum(-1), votes)

    def features(self, x: Tensor, head: int) -> Float[Tensor, "rows inputs"]:
        return x

    def state(self) -> State:
        above = torch.triu_indices(*self.scatter.shape)  # it is symmetric
        tensors = {"counts": self.counts, "means": self.means, "scatter": self.scatter[above[0], above[1]]}
        stored = {f"slda.{name}": value for name, value in tensors.items()}
        return State(stored, {"head_sizes": self.head_sizes, "experiences": self.experiences})

    def restore(self, state: State) -> None:
        self.head_sizes = stored_counts(state.metadata, "head_sizes")
        self.experiences = stored_counts(state.metadata, "experiences")
        tensors = {name: value.to(self.setting.device, copy=True) for name, value in state.below("slda.").items()}
        above = torch.triu_indices(*self.scatter.shape)
        half = torch.zeros_like(self.scatter)
        half[above[0], above[1]] = tensors["scatter"]
        self.counts, self.means, self.scatter = tensors["counts"], tensors["means"], half + half.triu(1).T
        self.precision = None

    def parameter_count(self) -> int:
        return sum(value.numel() for value in self.state().tensors.values())

    def stored_bytes(self) -> int:
        return sum(value.numel() * value.element_size() for value in self.state().tensors.values())


METHOD = Method(
    "slda",
    "streaming linear discriminant analysis: class means and one covariance",
    SLDAOptions,
    SLDA,
    Card(
        "a mean of every class and one covariance matrix: statistics of the inputs, no example",
        "Hayes and Kanan 2020, Lifelong Machine Learning with Deep Streaming Linear Discriminant Analysis",
    ),
    Look("SLDA", SKY, "-", "d", "||"),
    no_changes,
    prefers_single_head=True,
)
