"""Several outputs of one regressor: a kernel for all, chosen by the sum of their evidences, and μ and ζ for each.

Each output is a regressor of one target with the shared kernel held, levels 1 to 3 its own; what the estimator of
several outputs predicts is theirs side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ..base.archive import State
from ..base.provenance import provenance
from ..base.typing import Array
from ..kernels import ARD, RBF, Kernel
from ..levels.outputs import OutputsObjective
from ..search.refinement import Refinement, refine_objective

if TYPE_CHECKING:
    from .regressor import BayesianLSSVR

PUBLISHED = ("intercept_", "mu_", "zeta_", "gamma_", "gamma_eff_", "log_occam_factor_")


def design_outputs(model: BayesianLSSVR, X: Array, y: Array, weights: Array | None) -> None:
    """Design `model`, not fitted yet, on inputs X of shape (N, d) and targets y of shape (N, L)."""
    if y.shape[1] > 1 and not model._can_have_outputs:
        raise ValueError(
            'Several outputs share a kernel by the sum of their evidences with a prior: use criterion="evidence" and '
            "prior=None or a prior of your own, give the kernel with refine=False, or fit a model for each output."
        )
    kernel = model._kernel_for(X)
    inputs = model._standardised_training_inputs(X, weights)
    model.columns_ = np.arange(inputs.shape[1])
    model.X_fit_, model.y_fit_, model.weights_ = inputs, y, weights
    model.provenance_ = provenance(settings=model.get_params(deep=False), data=(X, y))
    if y.shape[1] == 1:  # nobody to share the kernel with
        only = clone(model).set_params(kernel=kernel, standardise=False).fit(inputs, y[:, 0], weights)
        model.kernel_, model.refinement_ = only.kernel_, only.refinement_
        publish_outputs(model, [only])
        return
    model.refinement_ = _shared_kernel(model, kernel, inputs, y, weights) if model.refine else None
    model.kernel_ = kernel if model.refinement_ is None else model.refinement_.kernel
    publish_outputs(model, [_alone(model).fit(inputs, target, weights) for target in y.T])


def _alone(model: BayesianLSSVR) -> BayesianLSSVR:
    """A regressor of one output on standardised inputs, with the shared kernel held."""
    held = {"kernel": model.kernel_, "refine": False, "standardise": False}
    found: BayesianLSSVR = clone(model).set_params(**held)
    return found


def _shared_kernel(model: BayesianLSSVR, kernel: Kernel, X: Array, y: Array, weights: Array | None) -> Refinement:
    """The kernel of the largest summed evidence; one with a scale for each input starts from the best spherical one."""
    if isinstance(kernel, ARD) and len(set(kernel.scales)) == 1:
        spherical = _shared_kernel(model, RBF(float(np.sqrt(X.shape[1]))), X, y, weights).kernel
        assert isinstance(spherical, RBF)
        kernel = ARD((spherical.sigma,) * len(kernel.scales))
    priors = tuple(model._hyper_prior(kernel, X, target, weights) for target in y.T)
    return refine_objective(OutputsObjective.of(X, y, priors, weights), kernel, model.random_state)  # type: ignore[arg-type]


def publish_outputs(model: BayesianLSSVR, outputs: list[BayesianLSSVR]) -> None:
    """Attributes of all outputs side by side, of shape (L,), and α of shape (N, L)."""
    model.outputs_ = outputs
    model.alpha_ = np.stack([output.alpha_ for output in outputs], axis=1)
    for name in PUBLISHED:
        setattr(model, name, np.array([getattr(output, name) for output in outputs]))
    model.log_evidence_ = float(sum(output.log_evidence_ for output in outputs))
    first = outputs[0]
    if hasattr(first, "relevance_"):
        model.relevance_, model.selected_ = first.relevance_, first.selected_


def outputs_state(model: BayesianLSSVR) -> State:
    """The outputs one by one, below numbers of their own."""
    assert model.outputs_ is not None
    states = [output._state() for output in model.outputs_]
    arrays = {f"{k}/{name}": array for k, its in enumerate(states) for name, array in its.arrays.items()}
    return State({"outputs": [its.header for its in states]}, arrays)


def restore_outputs(model: Any, state: State) -> None:
    """The outputs into an estimator whose surface is restored."""
    headers = state.header["outputs"]
    if not isinstance(headers, list) or not headers:
        raise ValueError("its header describes no outputs")
    outputs = [type(model)._from_state(state.below(f"{k}/", header)) for k, header in enumerate(headers)]
    first = outputs[0]
    if any(output.outputs_ is not None or output.X_fit_.shape != first.X_fit_.shape for output in outputs):
        raise ValueError("its outputs do not belong together")
    model.kernel_, model.columns_, model.X_fit_ = first.kernel_, first.columns_, first.X_fit_
    model.weights_ = first.weights_
    model.y_fit_ = np.stack([output.y_fit_ for output in outputs], axis=1)
    model.refinement_ = None
    publish_outputs(model, outputs)
