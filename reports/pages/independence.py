"""Which methods are independent: the methods of the pages, what they compute themselves and what they share."""

from __future__ import annotations

from reports.frame.page import Row, Section, Table

_ROWS = {
    "closed forms (5.2, Hessian, Laplace)": ("integrated out", "integrated out", "at a mode", "level 2 and 3", "–"),
    "quadrature": ("integrated out", "integrated out", "integrated by a rule", "level 1", "closed forms"),
    "collapsed NUTS": ("integrated out", "integrated out", "sampled", "level 1, as a table", "quadrature's rule"),
    "importance draws": ("integrated out", "integrated out", "weighted draws", "level 1", "quadrature's rule"),
    "weight-space NUTS": ("sampled", "sampled", "sampled", "nothing", "all of the above"),
    "GP NUTS": ("in the covariance", "sampled", "sampled", "nothing", "all of the above"),
}


def independence() -> Section:
    """The section with the table."""
    rows = tuple(Row(name, cells) for name, cells in _ROWS.items())
    return Section(
        "Which methods are independent",
        (
            "All methods share the data, the kernel as a formula and the prior. Weight space and the Gaussian "
            "process are independent programs, just priors and a likelihood in another library: an error in the "
            "algebra of the closed forms, of quadrature or of the collapsed sampler shows as a difference from "
            "them. Weight space samples weights and bias through a change of variables with its Jacobian; if that "
            "map were wrong, the chains would be slow, not biased.",
        ),
        tables=(
            Table(
                "What each method does with the unknowns, and what it shares with the library's algebra",
                ("", "weights", "bias", "log μ, log ζ, log σ", "takes from the library", "is a check of"),
                rows,
            ),
        ),
    )
