"""What `fit` found, for people and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._version import __version__
from ..base.text import listed, table_of
from ..estimators.classifier import BayesianLSSVC
from ..estimators.regressor import BayesianLSSVR
from ..kernels import ARD
from ..levels.level3 import ErrorBars, Level3
from .output import rows_of
from .training import Training

Model = BayesianLSSVC | BayesianLSSVR
_SHOWN_MEMBERS = 50
_SHOWN_INPUTS = 10


def report(model: Model, training: Training, score: dict[str, float]) -> str:
    """The model in lines of text."""
    if _has_members(model):
        return _report_on_members(model, training, score)
    level3, level2 = model.level3_, model.level3_.level2
    lines = [
        *training.describe(),
        ("task", training.task),
        ("kernel", f"{model.kernel_} ({_how_chosen(model, bool(model.kernel_.log_params.size))})"),
        ("μ", f"{level2.mu:<10.5g} {_bars('μ', level3.mackay.log_mu, level3.hessian.log_mu)}"),
        ("ζ", f"{level2.zeta:<10.5g} {_bars('ζ', level3.mackay.log_zeta, level3.hessian.log_zeta)}"),
        ("γ = ζ/μ", f"{level2.gamma:.5g}"),
        ("γ_eff", f"{level2.gamma_eff:.5g} of N = {level2.n}"),
        (
            "log evidence",
            (f"{model.log_evidence_:.3f} by Laplace's method with the prior; " if model.has_prior else "")
            + f"{level3.log_evidence:.3f} with the Occam factor, {level3.log_evidence_without_occam:.3f} without",
        ),
        *_relevance(model, training),
        ("status", level2.status if model.press_ is None else model.press_.status),
    ]
    if training.task == "classification":
        lines.append(("training accuracy", f"{100 * score['accuracy']:.1f} %"))
    else:
        noise = float(1.0 / np.sqrt(level2.zeta))
        lines.append(("training RMSE", f"{score['rmse']:.5g} (noise level 1/√ζ {noise:.5g})"))
    return rows_of(lines)


def _bars(symbol: str, mackay: float, hessian: float) -> str:
    """Both error bars of a log; the exact one is not defined where the Hessian is not negative definite."""
    shown = [f"± {bar:.3g}" if np.isfinite(bar) else "not defined" for bar in (mackay, hessian)]
    return f"log {symbol} {shown[0]} (MacKay), {shown[1]} (Hessian)"


def record(
    model: Model, training: Training, score: dict[str, float], seed: int, model_file: str | None
) -> dict[str, Any]:
    """The model for JSON."""
    found: dict[str, Any] = {
        "version": __version__,
        "task": training.task,
        "data": training.record(),
        "refined": model.refine,
        "occam": model.occam,
        "prior": "flat" if not model.has_prior else "default" if model.prior is None else str(model.prior),
        "criterion": model.criterion,
        "seed": seed,
        "training": score,
        "model_file": model_file,
    }
    if isinstance(model, BayesianLSSVC):
        found["moderation"] = model.moderation
        found["class_prior"] = model._prior(None)
    if not _has_members(model):
        return found | _record_of_one(model, training)
    members = [_member_record(member, bit, model) for bit, member in enumerate(model.members_)]
    book = {"coding": model.coding, "decoding": model.decoding, "code_book": model.code_book_}
    return found | book | {"log_evidence": model.log_evidence_, "members": members}


def _has_members(model: Model) -> bool:
    return isinstance(model, BayesianLSSVC) and model.multiclass_ is not None


def _how_chosen(model: Model, has_parameters: bool) -> str:
    if model.criterion != "evidence":
        return f"by {model.criterion}, with γ"
    if not has_parameters:
        return "no parameters"
    if not model.refine:
        return "as given"
    if model.has_prior:
        return "by Laplace's evidence with the prior"
    return f"by the evidence {'with' if model.occam else 'without'} the Occam factor"


def _relevance(model: Model, training: Training) -> list[tuple[str, str]]:
    """Inputs by relevance, where the kernel has a scale for each."""
    if not isinstance(model.kernel_, ARD):
        return []
    order = np.argsort(-model.relevance_, kind="stable")
    named = [f"{training.inputs[i]} {model.relevance_[i]:.3g}" for i in order.tolist() if model.relevance_[i] > 0]
    count = f"{len(model.selected_)} of {len(training.inputs)} inputs are used"
    return [("relevance 1/s²", f"{listed(named, _SHOWN_INPUTS)} ({count})")]


def _report_on_members(model: Any, training: Training, score: dict[str, float]) -> str:
    count = len(model.members_)
    whole = rows_of(
        [
            *training.describe(),
            ("task", training.task),
            ("coding", f"{model.coding}, {count} binary member{'s' * (count > 1)}"),
            ("decoding", model.decoding),
            ("kernels", _how_chosen(model, bool(model.members_[0].kernel_.log_params.size))),
            ("log evidence", f"{model.log_evidence_:.3f}, the sum over the members"),
            ("training accuracy", f"{100 * score['accuracy']:.1f} %"),
        ]
    )
    rows = [("member", "+1 against −1", "kernel", "μ", "ζ", "γ_eff", "N", "log evidence", "status")]
    for bit, member in enumerate(model.members_[:_SHOWN_MEMBERS]):
        level2 = member.level3_.level2
        sides = (model.classes_[model.code_book_[:, bit] == sign].astype(str).tolist() for sign in (1, -1))
        versus = " | ".join(listed(side, 4) for side in sides)
        numbers = (f"{level2.mu:.4g}", f"{level2.zeta:.4g}", f"{level2.gamma_eff:.4g}", str(level2.n))
        rows.append((str(bit), versus, str(member.kernel_), *numbers, f"{member.log_evidence_:.2f}", level2.status))
    table = table_of(rows)
    if count > _SHOWN_MEMBERS:
        table.append(f"… and {count - _SHOWN_MEMBERS} more members (--json has all)")
    return "\n".join([whole, "", *table])


def _levels(level3: Level3) -> dict[str, Any]:
    def bars(source: ErrorBars) -> dict[str, float]:
        return {"log_mu": source.log_mu, "log_zeta": source.log_zeta, "correlation": source.correlation}

    level2 = level3.level2
    return {
        "mu": level2.mu,
        "zeta": level2.zeta,
        "gamma": level2.gamma,
        "gamma_eff": level2.gamma_eff,
        "error_bars": {"mackay": bars(level3.mackay), "hessian": bars(level3.hessian)},
        "log_evidence": level3.log_evidence,
        "log_evidence_without_occam": level3.log_evidence_without_occam,
        "log_occam_factor": level3.log_occam_factor,
        "status": level2.status,
    }


def _record_of_one(model: Any, training: Training) -> dict[str, Any]:
    found = {"kernel": model.kernel_.to_dict(), "kernel_text": str(model.kernel_), **_levels(model.level3_)}
    if model.has_prior:
        found["log_evidence_laplace"] = model.log_evidence_
    if isinstance(model, BayesianLSSVC):
        found["zeta_star"] = model.zeta_star_
    if hasattr(model, "relevance_"):
        found["relevance"] = dict(zip(training.inputs, model.relevance_.tolist(), strict=True))
        found["selected"] = [training.inputs[i] for i in model.selected_.tolist()]
    return found


def _member_record(member: Any, bit: int, model: Any) -> dict[str, Any]:
    column = model.code_book_[:, bit]
    return {
        "positive": model.classes_[column > 0],
        "negative": model.classes_[column < 0],
        "kernel": member.kernel_.to_dict(),
        "kernel_text": str(member.kernel_),
        **_levels(member.level3_),
        "zeta_star": member.zeta_star_,
    }
