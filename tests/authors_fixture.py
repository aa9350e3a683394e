"""What the authors' program computed for fixed inputs, weights and sticks (`data/authors.npz`), and ours for the same.

Their graph was evaluated 400 times; the file has mean and standard error of every quantity, in single precision. IBNN:
64 inputs, batch 64, N = 5000, K = 40, one layer, alpha 5, weights drawn once for the batch. HIBNN: K = 50, two layers,
alpha 4.2, alpha_j 4, noise shared by the batch. Both: 10 draws, temperatures 0.7, prior variance 0.7, log variances -6.
"""

from pathlib import Path

import numpy as np
import torch

from hibnn.learners.authors_objective import authors_objective
from hibnn.learners.objective import Draws, Minibatch
from hibnn.nn.layers.authors import AuthorsHIBP, AuthorsIBP
from hibnn.nn.layers.linear import WeightNoise
from hibnn.nn.layout import Layout
from hibnn.nn.likelihoods import Categorical
from hibnn.nn.networks.bayesian import BayesianMLP

FILE = Path(__file__).parent / "data" / "authors.npz"
EVALUATIONS = 400
DRAWS = Draws(weights=10, averaged_masks=10, temperature=0.7, prior_temperature=0.7)
ROUNDING = 3e-6
"""Relative: both programs sum in single precision."""


class Theirs:
    """The numbers of one of the two networks."""

    def __init__(self, kind):
        with np.load(FILE) as file:
            self.x, self.y = torch.from_numpy(file["x"]), torch.from_numpy(file["y"])
            own = {name.removeprefix(f"{kind}."): file[name] for name in file.files if name.startswith(f"{kind}.")}
        self.kind, self.inputs = kind, {name: value for name, value in own.items() if "__" not in name}
        self.means = {name[:-6]: value.astype(float) for name, value in own.items() if name.endswith("__mean")}
        self.errors = {name[:-4]: value.astype(float) for name, value in own.items() if name.endswith("__se")}

    def network(self, weight_noise=None):
        """Ours, with their weights; its sticks must begin where theirs do."""
        units = self.inputs["W0"].shape[1]
        if self.kind == "ibnn":
            mask, noise = AuthorsIBP([units], 5.0, 5.0), WeightNoise.WEIGHTS
        else:
            mask, noise = AuthorsHIBP([units, units], 4.2, 4.2, child_alpha=4.0, samples=10), WeightNoise.BATCH
        generator = torch.Generator().manual_seed(0)
        widths = [units] * (1 if self.kind == "ibnn" else 2)
        network = BayesianMLP(
            64, widths, Layout.MULTI, mask, log_variance=-6.0, prior_variance=0.7, init_std=0.1,
            weight_noise=weight_noise or noise, generator=generator,
        )  # fmt: skip
        network.add_head(10, generator)
        pairs = [(f"W{number}", f"b{number}") for number in range(len(widths))] + [("head_W", "head_b")]
        with torch.no_grad():
            for layer, (weights, biases) in zip((*network.body, *network.heads), pairs, strict=True):
                stacked = np.vstack([self.inputs[weights], self.inputs[biases]])
                layer.mean.copy_(torch.from_numpy(stacked))
        return network


def evaluated(theirs, network, generator, times):
    """Every quantity of the file by our program, `times` over."""
    found = {}
    for _ in range(times):
        for name, value in once(theirs, network, generator).items():
            found.setdefault(name, []).append(value.detach().double().numpy())
    return {name: np.stack(values) for name, values in found.items()}


def once(theirs, network, generator):
    """Terms, their gradients, masks and the accuracy of single draws, under the names of the file."""
    examples = int(theirs.inputs["N"])
    terms = authors_objective(network, Minibatch(theirs.x, theirs.y, 0, examples, Categorical()), DRAWS, generator)
    found = {"ll": -terms["nll"], "kl_gauss": terms["kl_weights"] * examples, "kl_bern": terms["kl_masks"] * examples}
    if theirs.kind == "ibnn":
        found["kl_beta"] = terms["kl_sticks"] * examples
    else:
        found |= {"kl_beta": terms["kl_child"] * examples, "kl_gbeta": terms["kl_sticks"] * examples}
    found["cost"] = torch.stack(list(terms.values())).sum()
    return found | gradients(found, network) | asked(theirs, network, generator)


def gradients(terms, network):
    raw, first = network.buffet.each()[0].raw, network.hidden_layers()[0]
    found = {}
    for name in [name for name in ("ll", "kl_bern", "kl_beta", "kl_gbeta") if name in terms]:
        (to_raw,) = torch.autograd.grad(terms[name], raw, retain_graph=True)
        found[f"d{name}_da"], found[f"d{name}_db"] = to_raw
    to_mean, to_log_variance = torch.autograd.grad(terms["ll"], [first.mean, first.log_variance])
    return found | {"dll_dW0": to_mean[:-1], "dll_dWv0": to_log_variance[:-1]}


@torch.no_grad()
def asked(theirs, network, generator):
    """Masks of the batch, and the share of right answers over 100 draws of the weights."""
    masks = network.buffet.masks(10, len(theirs.x), 0.7, generator)
    found = {f"Z{layer}_mean_over_batch": z.mean(0) for layer, z in enumerate(masks)}
    found |= {f"Z{layer}_active01": (z > 0.1).sum(1).double().mean() for layer, z in enumerate(masks)}
    logits = network(theirs.x, 0, [z.repeat(100, 1) for z in masks], generator, 100)
    return found | {"acc": (logits.argmax(-1) == theirs.y.repeat(100)).double().mean()}


def combined_errors(theirs, ours, name):
    """How many combined standard errors the two means lie apart, elementwise."""
    own = ours[name]
    error = np.hypot(own.std(0, ddof=1) / len(own) ** 0.5, theirs.errors[name])
    return np.abs(own.mean(0) - theirs.means[name]) / (error + ROUNDING * np.abs(theirs.means[name]) / 5 + 1e-12)
