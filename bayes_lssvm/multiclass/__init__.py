"""More than two classes: codings, members with moderated outputs, decodings (paper 2)."""

from ._classifier import DECODINGS, PROBABILISTIC, MulticlassLSSVC
from ._codings import CODINGS, check_code_book, code_book, error_correcting, hamming_distances
from ._decodings import bayes_log_posterior, couple_pairwise, hamming_distance, least_cost, loss_scores, votes
from ._posterior import SharedMember, SharedPosterior
from ._search import SharedRefinement
from ._shared import SharedDesign, design_shared

__all__ = [
    "CODINGS",
    "DECODINGS",
    "PROBABILISTIC",
    "MulticlassLSSVC",
    "SharedDesign",
    "SharedMember",
    "SharedPosterior",
    "SharedRefinement",
    "bayes_log_posterior",
    "check_code_book",
    "code_book",
    "couple_pairwise",
    "design_shared",
    "error_correcting",
    "hamming_distance",
    "hamming_distances",
    "least_cost",
    "loss_scores",
    "votes",
]
