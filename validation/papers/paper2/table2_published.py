"""Table II of paper 2 as printed: LS-SVMs, test set accuracies in % with their standard deviations.

Van Gestel et al. (2002), Multiclass LS-SVMs: moderated outputs and coding-decoding schemes, Neural Processing Letters
15, 45–58, section 5, Table II. Ten randomisations; columns are 1vs1, 1vsA, MOC, ECOC by Hamming decoding, then the same
by Bayesian decoding. A star marks what the paper sets in bold, the best of its row and kernel.
"""

from __future__ import annotations

import re

from ..table import Published

CODINGS: tuple[str, ...] = ("ovo", "ova", "moc", "ecoc")
_FIGURE = re.compile(r"(\d+\.\d)(\*?)\((\d+\.\d)\)")

Key = tuple[str, str, str, str]
"""Data set, kernel, decoding, coding."""


def read(printed: str, kernel: str, decodings: tuple[str, str]) -> dict[Key, Published]:
    """The figures of a printed block, whose columns are the codings by one decoding, then by the other."""
    found: dict[Key, Published] = {}
    columns = [(decoding, coding) for decoding in decodings for coding in CODINGS]
    for line in printed.strip().splitlines():
        name, *figures = line.split()
        for (decoding, coding), figure in zip(columns, figures, strict=True):
            match = _FIGURE.fullmatch(figure)
            if match is None:
                raise ValueError(f"{figure!r} in the line of {name!r} is not a printed figure such as 92.0*(2.2).")
            mean, best, sd = match.groups()
            key = (name, kernel, decoding, coding)
            found[key] = Published(float(mean), float(sd), "sd", "best" if best else "")
    return found


_LINEAR = """
bal  87.5(2.7)  87.4(2.5) 92.0*(2.2)  84.9(2.8)  87.0(2.5)  87.5(2.6) 92.0*(2.2)  87.5(2.6)
der  96.3(1.1)  97.0(1.6)  94.3(2.1)  97.1(1.4)  96.6(1.0)  96.8(1.6)  95.5(1.6) 97.3*(1.4)
gla 61.5*(4.9)  57.4(7.1)  47.2(3.9)  56.9(6.6)  58.3(5.0)  58.2(6.4)  50.1(3.8)  59.0(7.6)
iri  97.0(1.7)  81.4(5.3)  72.2(4.7)  72.0(4.8) 97.2*(2.3)  85.2(5.1)  72.8(4.8)  85.2(5.1)
led  70.7(3.7)  70.9(4.4)  54.5(2.1)  68.2(3.8) 72.0*(2.8)  71.5(3.3)  54.5(2.1)  71.2(4.2)
nth  91.1(3.9)  87.8(3.9)  86.7(4.5)  86.7(4.5) 92.5*(3.8)  88.9(4.4)  87.4(4.7)  87.4(4.7)
ssd  96.2(3.2)  95.0(2.6)  95.0(2.6)  95.0(2.6) 96.9*(3.3)  95.0(2.6)  95.0(2.6)  95.0(2.6)
veh  80.6(1.8)  77.0(1.6)  69.3(2.1)  68.0(1.9) 80.7*(1.3)  78.0(2.2)  69.3(2.1)  78.4(2.2)
win  98.2(1.5)  98.7(1.7)  96.5(2.0)  98.7(1.7)  98.0(1.7) 99.0*(1.2)  97.3(1.6)  98.7(1.7)
zoo  91.5(3.8)  91.2(5.4)  88.2(6.0)  90.6(5.8)  91.2(3.9) 92.6*(5.0)  88.2(6.0) 92.6*(5.2)
"""

_RBF = """
bal  92.3(1.7)  88.6(2.1)  93.1(2.9)  88.6(2.1)  91.4(1.8)  90.3(2.1) 93.3*(2.8)  90.3(2.1)
der  97.4(0.8)  96.0(0.7)  96.7(1.1) 97.7*(0.8)  97.3(1.0)  97.4(0.8)  97.0(1.2)  97.6(0.8)
gla  62.6(7.4)  54.4(4.4)  50.7(5.6)  63.2(9.5)  58.5(6.1)  64.3(7.3)  51.2(5.1) 66.1*(8.5)
iri 95.8*(3.5)  94.4(2.8)  94.6(2.8)  94.4(2.8)  95.6(3.4)  95.0(3.2)  94.6(2.8)  95.0(3.2)
led  71.9(3.1)  68.8(1.6)  70.7(2.9)  71.3(2.4) 72.2*(2.8)  71.9(3.0)  70.7(2.9)  72.0(3.1)
nth  96.0(1.7)  96.1(1.9) 96.5*(2.0)  96.1(1.9)  96.2(1.9)  96.1(1.9) 96.5*(2.0)  96.1(1.9)
ssd 97.5*(3.2)  93.8(4.2)  95.0(2.6)  95.0(2.6) 97.5*(3.2)  95.0(2.6)  95.0(2.6)  95.0(2.6)
veh  82.3(1.5)  76.0(4.8)  80.7(2.4)  76.2(2.2) 82.8*(1.5)  79.5(3.9)  80.7(2.4)  82.7(2.3)
win 98.3*(1.6)  97.7(1.8)  97.8(1.9)  97.7(1.8) 98.3*(1.6)  98.2(1.7)  97.8(1.9)  98.2(1.7)
zoo  92.6(3.7)  89.4(5.9)  91.2(3.9)  92.6(4.2) 92.9*(3.7) 92.9*(4.2)  91.2(3.9) 92.9*(3.7)
"""

TABLE_II: dict[Key, Published] = {
    **read(_LINEAR, "linear", ("hamming", "bayes")),
    **read(_RBF, "rbf", ("hamming", "bayes")),
}
