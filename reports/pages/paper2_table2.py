"""The page of paper 2's Table II: LS-SVMs by coding and decoding, and what the paper lacks, their probabilities."""

from __future__ import annotations

from reports.frame.page import Page, Row, Section, Table
from reports.frame.words import NONE, minus
from validation.harness import StudyResult
from validation.papers.paper2.data import CODING_NAMES, KERNEL_NAMES, KERNELS, SETS
from validation.papers.paper2.table2 import DECODINGS, table
from validation.papers.paper2.table2_published import CODINGS

from .paper2_codings import coding_page, means

INTRODUCTION = (
    "Paper 2 (Van Gestel et al., 2002) turns problems of several classes into binary ones by four output codings, "
    "fits an LS-SVM for each bit by the evidence framework, and compares Hamming decoding with Bayesian decoding "
    "on ten data sets, each divided ten times at random into two thirds to train on and one third to test. This "
    "page computes its Table II again and adds scores of the probabilities, which the paper does not have."
)
METHODS = (
    "Every member has its own μ, ζ and, for the RBF kernel, its own σ at the maximum of its own evidence; the "
    "moderated output is that of paper 2 (11), and all classes are equally likely beforehand, as in the paper. All "
    "decodings are of the same members. Bayesian decoding of 1vs1 is the order-free reading of its formula (20) (see "
    "the page on more than two classes).",
    "Sizes of the parts are those of the paper's Table I. The ten randomisations are ours, seeded by the set's name "
    "and their number; led is generated once (600 rows). Ages that are missing in der are the training part's mean.",
    "A class that the training part does not have is never predicted, and its test rows count as wrong. An LS-SVM "
    "needs three points: where a pair of classes has fewer, the smaller class is left out of 1vs1 in the same way.",
    "Ties of Hamming decoding go to the class whose codeword agrees most with the outputs' sizes; the paper "
    "states its rule for 1vsA only, and it is the same. Classes are numbered as the UCI repository lists them; "
    "minimal output coding depends on that order, which the paper does not print. New error-correcting codes are "
    "drawn for each randomisation.",
)
PROBABILITIES = (
    "Log score (nats, larger is better) and expected calibration error (in brackets, smaller is better) of "
    "Bayesian decoding, and for 1vs1 of pairwise coupling (Wu, Lin and Weng, 2004) of the same members. Bayesian "
    "decoding treats the bits as independent. With many bits they are not, and its probabilities are "
    "overconfident.",
)


def page(result: StudyResult) -> Page:
    """Table II with everything that belongs to it, and the probabilities."""
    probabilities = Section("How good are the probabilities?", PROBABILITIES, (probabilities_table(result),))
    return coding_page(
        result,
        table(result),
        DECODINGS,
        second="Bayesian",
        introduction=INTRODUCTION,
        methods=METHODS,
        sections=(probabilities,),
    )


def probabilities_table(result: StudyResult) -> Table:
    """Log score and calibration error by data set, coding and decoding, RBF kernel."""
    pairs = [*((coding, "bayes") for coding in CODINGS), ("ovo", "coupling")]
    found = [(means(result, d, "log_score"), means(result, d, "ece"), coding) for coding, d in pairs]
    rows = []
    for kernel in KERNELS:
        rows.append(Row(f"{KERNEL_NAMES[kernel]} kernel"))
        for name in SETS["full"]:
            keys = [(name, kernel, coding) for *_, coding in found]
            if not any(key in logs for key, (logs, *_) in zip(keys, found, strict=True)):
                continue
            cells = tuple(
                minus(f"{logs[key]:.3f} ({ece[key]:.3f})") if key in logs else NONE
                for key, (logs, ece, _) in zip(keys, found, strict=True)
            )
            rows.append(Row(f"  {name}", cells))
    header = ("", *(f"Bayes {CODING_NAMES[coding]}" for coding in CODINGS), "coupling 1vs1")
    return Table("Log score (calibration error) on the test parts", header, tuple(rows))
