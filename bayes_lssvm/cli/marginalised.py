"""What marginalise shows: a posterior on standardised data as text, as a record, and as predictions.

With targets (y − m)/s the evidence of the targets as given is log p(D | H) − (N − 1) log s: the bias takes one of the N
dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from ..base.standardisation import Standardiser
from ..base.text import listed
from ..base.typing import Array
from ..levels.moderation import probabilities
from ..marginal.left_out import left_out_map
from ..marginal.posterior import HyperPosterior
from ..priors import LogPrior
from .output import rows_of
from .training import Training

INTERVAL = 0.9
_EVIDENCES = ("log_evidence_laplace",)  # diagnostics that are log evidences


@dataclass(frozen=True)
class Marginalised:
    """A posterior on standardised data, with the way there and back.

    Attributes
    ----------
    posterior : HyperPosterior
        Its provenance has the standardisation as "table".
    target_mean, target_scale : float
        0 and 1 for classes, whose targets are ±1.
    """

    training: Training
    posterior: HyperPosterior
    standardiser: Standardiser
    target_mean: float
    target_scale: float

    def as_given(self, log_evidence: float) -> float:
        """A log evidence of the standardised targets as one of the targets as given."""
        return log_evidence - (len(self.training.y) - 1) * float(np.log(self.target_scale))

    @property
    def diagnostics(self) -> dict[str, Any]:
        """What the method tells of its work, with evidences of the targets as given."""
        facts = self.posterior.diagnostics
        return facts | {name: self.as_given(facts[name]) for name in _EVIDENCES if name in facts}

    def predictions(self, X: Array) -> dict[str, Any]:
        """Columns for new inputs of shape (n, d): labels and probabilities, or means and standard deviations."""
        X = self.standardiser(X)
        if self.training.task == "classification":
            seen = self.posterior
            loo = left_out_map(seen.prediction_nodes, seen.X, seen.y, seen.sample_weight)
            z, sd = self.posterior.predict(X, return_std=True)
            P = probabilities(loo.log_odds(z, sd**2))
            classes = list(self.training.counts)
            labels = np.array(classes)[(P[:, 1] > 0.5).astype(int)]
            return {"label": labels} | {f"P({label})": P[:, k] for k, label in enumerate(classes)}
        mean, std = self.posterior.predict(X, return_std=True)
        return {"mean": self.target_mean + self.target_scale * mean, "std": self.target_scale * std}


def record_of(found: Marginalised) -> dict[str, Any]:
    """The posterior for JSON."""
    posterior = found.posterior
    mean, sd, interval = posterior.mean(), posterior.sd(), posterior.interval(INTERVAL)
    return {
        "method": posterior.method,
        "kernel": posterior.kernel.to_dict(),
        "log_evidence": found.as_given(posterior.log_evidence),
        "log_evidence_error": posterior.log_evidence_error,
        "tail": posterior.tail,
        "interval_probability": INTERVAL,
        "parameters": {
            name: {"mean": mean[name], "sd": sd[name], "low": interval[name][0], "high": interval[name][1]}
            for name in mean
        },
        "correlation": {"names": posterior.names, "values": posterior.correlation()},
        "diagnostics": found.diagnostics,
        "provenance": posterior.provenance,
    }


def report_of(found: Marginalised, kernel_given: str) -> str:
    """The posterior for people; `kernel_given` is how they named the kernel."""
    posterior, training = found.posterior, found.training
    assert posterior.prior is not None
    names = posterior.names[3:]  # after log μ, log ζ and log γ
    if not posterior.kernel.log_params.size:
        kernel = f"{posterior.kernel!s} (no parameters)"
    elif not names:
        kernel = f"{posterior.kernel!s} (as given)"
    else:
        kernel = f"{kernel_given} ({listed((name.removeprefix('log_') for name in names), 8)} integrated out)"
    lines = [
        *training.describe(),
        ("task", training.task),
        ("kernel", kernel),
        ("prior", _prior_in_words(posterior.prior.components(len(names)), ("log_mu", "log_zeta", *names))),
    ]
    if training.task == "regression":
        noise = found.target_scale * posterior.expectation(lambda x: np.exp(-0.5 * x[:, 1]))
        scale = (
            f"mean {found.target_mean:.5g}, sd {found.target_scale:.5g}; mu and zeta refer to the standardised target"
        )
        lines += [
            ("target scale", scale),
            ("noise level", f"{noise:.5g}, the posterior mean of 1/√ζ in units of the target"),
        ]
    summary = replace(posterior, log_evidence=found.as_given(posterior.log_evidence)).summary()
    return "\n".join([rows_of(lines), "", summary, *_in_words(found)])


def _prior_in_words(parts: Sequence[LogPrior], names: Sequence[str]) -> str:
    def words(part: LogPrior) -> str:
        return f"{type(part).__name__}({', '.join(f'{value:g}' for value in astuple(part))})"  # type: ignore[call-overload]

    if len(set(parts)) == 1:
        return f"{words(parts[0])} for each log parameter"
    return ", ".join(f"{name} {words(part)}" for name, part in zip(names, parts, strict=True))


def _in_words(found: Marginalised) -> list[str]:
    """What the method tells of its work, a sentence each."""
    posterior, facts = found.posterior, found.diagnostics
    sentences = []
    if posterior.tail > 1e-6:
        sentences.append(f"Up to {np.log1p(posterior.tail):.1e} nats may be missing where a range was cut.")
    if "n_kernels" in facts and len(posterior.names) > 3:
        sentences.append(f"{facts['n_kernels']} kernels were evaluated.")
    if "n_modes" in facts:
        count, missed = facts["n_modes"], facts.get("missed_mass", 0.0)
        others = f"; together, the others carry {missed:.0%} as much mass as the best one" if missed else ""
        sentences.append(f"The posterior has {count} modes{others}." if count > 1 else "The posterior has one mode.")
    if "log_evidence_laplace" in facts:
        sentences.append(f"Laplace's method gives a log evidence of {facts['log_evidence_laplace']:.3f}.")
    weighed = facts.get("correction", facts)
    k_hat = weighed.get("k_hat_of_weights", weighed.get("k_hat", -np.inf))
    if k_hat > -np.inf:  # that is: where there are weights
        says = "can" if k_hat <= 0.7 else "cannot"
        sentences.append(f"Pareto k̂ is {k_hat:.2f} (0.7 is the limit): the weights {says} be trusted.")
    if "effective_size" in facts:
        sentences.append(f"{len(posterior.nodes)} draws are worth {facts['effective_size']:.0f} independent ones.")
    for check in facts.get("chains", {}).get("checks", ()):
        says = "passed" if check["passed"] else "FAILED"
        sentences.append(f"{says}: {check['sentence']}.")
    sentences += [
        f"The evidence by bridge sampling: {concern}." for concern in facts.get("bridge", {}).get("concerns", ())
    ]
    return sentences
