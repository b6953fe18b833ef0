"""The words of the pages that a newcomer cannot know, with their meanings.

In a text the first place of each word becomes a link to the page's glossary; its meaning is the tooltip, so that a
mouse shows it at once and a finger or the keyboard gets there by the link. Numbers of equations stand for formulas.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup, escape

WORDS: dict[str, str] = {
    # the papers
    "paper 0": "Van Gestel et al. (2002), Neural Computation 14: the Bayesian framework for LS-SVM classifiers",
    "paper 1": "Cawley and Talbot (2007), JMLR 8: Bayesian regularisation of the hyperparameters against over-fitting",
    "paper 2": "Van Gestel et al. (2002), Neural Processing Letters 15: LS-SVMs for several classes",
    "paper 4": "Suykens, lecture 7 of a course on least-squares support vector machines",
    # the model
    "LS-SVM": "least-squares support vector machine: a kernel machine trained by solving one linear system",
    "RBF": "radial basis function kernel: K = exp(−|x − z|²/σ²)",
    "ARD": "automatic relevance determination: a kernel with one width for each input",
    "μ": "precision of the prior of the weights; a large μ means a smooth, cautious model",
    "ζ": "precision (inverse variance) of the noise",
    "γ": "ζ/μ, how strongly the model follows the data",
    "σ": "width of the RBF kernel",
    "γ_eff": "effective number of parameters: how many directions of feature space the data determine",
    "μ_MP": "most probable value of μ: where the evidence of level 2 is largest",
    "ζ_MP": "most probable value of ζ: where the evidence of level 2 is largest",
    "σ_MP": "most probable kernel width: where the evidence of level 3 is largest",
    "ζ_*": "precision of the noise around the class centres",
    "level 1": "inference of weights and bias, with the hyperparameters fixed",
    "level 2": "inference of the hyperparameters μ and ζ, with the kernel fixed",
    "level 3": "comparison of kernels, such as the choice of σ",
    "hyperparameters": "μ, ζ and the parameters of the kernel",
    # evidence
    "evidence": "p(D | model): how probable the data are under a model, with its parameters integrated out",
    "Occam factor": "posterior width over prior width of the hyperparameters: the price of having to tune them",
    "(5.2)": "paper 0, eq. 5.2: the evidence of a kernel, best fit times MacKay's Occam factor",
    "(5.3)": "paper 0, eq. 5.3: the evidence (5.2) without its constants; it has the same maximum",
    "(3.17)": "paper 0, eq. 3.17: the moderated output, a class probability",
    "(2.22)": "paper 0, eq. 2.22: the label is the sign of the latent output",
    "(11)": "paper 2, eq. 11: the moderated output with targets ±1",
    "(15)": "paper 1, eq. 15: PRESS with a prior over the kernel's scales whose precision is integrated out",
    "(20)": "paper 2, eq. 20: Bayesian decoding, the product of the members' probabilities",
    "MacKay's error bars": "√(2/(γ_eff − 1)) for log μ and √(2/(N − γ_eff)) for log ζ: no integration needed",
    "MacKay's formula": "error bars √(2/(γ_eff − 1)) for log μ and √(2/(N − γ_eff)) for log ζ",
    "Hessian": "matrix of second derivatives at the mode; its inverse gives Gaussian error bars",
    "Laplace's method": "replaces the posterior by the Gaussian at its mode",
    "quadrature": "numerical integration on a grid that is refined until the result stands still: exact here",
    "nats": "natural units of information: a difference of 1 nat in log evidence is odds of e = 2.7 to 1",
    "nat": "natural unit of information: odds of e = 2.7 to 1",
    "Bayes factor": "ratio of the evidences of two models",
    "Bayes factors": "ratios of the evidences of two models",
    "Kass and Raftery": "their scale for log Bayes factors, in nats: below 1 a bare mention, to 3 positive, to 5 "
    "strong, then very strong",
    "posterior": "what is known about a parameter after seeing the data",
    "mode": "a local maximum of a density",
    "marginalised": "with μ, ζ and σ integrated out instead of fixed at their best values",
    "plug-in": "with the hyperparameters fixed at their most probable values",
    "moderated output": "class probability with weights and bias integrated out",
    "interpolate": "fit the training labels exactly, without noise",
    "flat limit": "all scales of the kernel go to zero and the model becomes linear",
    # sampling
    "NUTS": "No-U-Turn sampler, a Markov-chain Monte-Carlo method",
    "collapsed NUTS": "NUTS over the hyperparameters alone, with weights and bias integrated out",
    "weight-space NUTS": "NUTS over weights, bias and hyperparameters: shares no algebra with the closed forms",
    "GP NUTS": "NUTS on the same model written as a Gaussian process: shares no algebra with the closed forms",
    "bridge sampling": "estimates the evidence from draws of the posterior",
    "importance sampling": "averages over weighted draws from a simpler density",
    "R-hat": "compares the spread between chains with that within: near 1 where they have mixed",
    "E-FMI": "energy fraction of missing information: below 0.3 chains explore the tails too slowly",
    "ESS": "effective sample size: as many independent draws would be worth the same",
    "s.e.": "standard error",
    "k̂": "shape of the tail of importance weights; above 0.7 they are not reliable",
    "PSIS-LOO": "leave-one-out by Pareto-smoothed importance sampling, from one set of draws",
    "PSIS": "Pareto-smoothed importance sampling",
    "elpd": "expected log predictive density",
    "PIT": "posterior probability below the true value: uniform where a method is calibrated",
    "Monte-Carlo standard error": "the error of a sampled number that is due to the finite number of draws",
    # scores
    "log score": "mean log probability of what came true, in nats: larger is better",
    "log loss": "minus the log score: smaller is better",
    "Brier": "mean squared error of the class probabilities: smaller is better",
    "ECE": "expected calibration error: mean gap between confidence and accuracy, in ten bins",
    "AUC": "area under the ROC curve: the chance that a positive case is ranked above a negative one",
    "ROC": "receiver operating characteristic: sensitivity against false alarms as the cut-off moves",
    "randomisations": "random divisions of the data into training and test rows",
    "PRESS": "predicted residual sum of squares: squared leave-one-out errors",
    "p-values": "probabilities of a difference at least as large by chance alone",
    "Wilcoxon": "signed rank test of paired differences",
    "Nemenyi": "test of average ranks over data sets: smaller differences than the critical one are not told apart",
    "base rate": "always predicting the classes' shares in the training part",
    "s.d.": "standard deviation",
    "sd": "standard deviation",
    # columns of the papers' tables
    "BayM": "Bayesian LS-SVM, labels by the moderated output (3.17)",
    "Bay": "Bayesian: hyperparameters by the evidence, labels by the sign of the latent output (2.22)",
    "CV10": "hyperparameters by ten-fold cross-validation",
    "GP_b": "Gaussian process with a bias term of its own variance",
    "LSSVM": "LS-SVM with hyperparameters by PRESS",
    "LSSVM-BR": "LS-SVM with PRESS and Bayesian regularisation of the kernel's scales (15)",
    "EP-GPC": "Gaussian process classifier by expectation propagation",
    "GPC": "Gaussian process classifier",
    "SVC": "support vector classifier",
    "Platt": "sigmoid that turns an SVM's margin into a probability",
    "1vs1": "one against one: a binary classifier for each pair of classes",
    "1vsA": "one against all: a binary classifier for each class",
    "member": "one of the binary classifiers into which a coding divides a problem of several classes",
    "members": "the binary classifiers into which a coding divides a problem of several classes",
    "MOC": "minimal output coding: as few binary classifiers as can name the classes",
    "ECOC": "error-correcting output coding: more binary classifiers than needed, so that errors can be mended",
    "Hamming": "decoding: the class whose code word differs in the fewest bits",
    "elliptical": "with one scale for each input: the ARD kernel",
    "spherical": "with a single width: the RBF kernel",
    "papers' rules": "BayesianLSSVC with the papers' settings: a flat prior and their form of the probabilities",
    "LR": "logistic regression",
    "RMI": "risk of malignancy index, a clinical score",
    "PT": "Pesaran and Timmermann's test: are the signs of forecasts and of returns independent?",
    "ARX": "linear autoregression with other series as inputs",
    "AR": "linear autoregression",
    "buy and hold": "buy on the first day and do nothing more",
    # data sets
    "bld": "BUPA liver disorders", "cra": "Leptograpsus crabs", "gcr": "German credit", "hea": "Statlog heart disease",
    "ion": "ionosphere radar returns", "pid": "Pima Indians diabetes", "snr": "sonar: mines against rocks",
    "ttt": "tic-tac-toe endgames", "wbc": "Wisconsin breast cancer", "adu": "adult census income",
    "rsy": "Ripley's synthetic data", "tit": "Titanic survival", "bal": "balance scale", "gla": "glass identification",
    "led": "LED display with noise", "nth": "new thyroid", "der": "dermatology", "veh": "vehicle silhouettes",
    "ssd": "small soybean diseases", "usp": "US Postal Service digits", "wav": "waveforms", "iri": "iris plants",
    "win": "wine recognition", "cmc": "contraceptive method choice", "ims": "image segments", "thy": "thyroid",
}  # fmt: skip
_PATTERN = re.compile(
    r"`[^`]*`|(?<![\w.,·−-])(?:"
    + "|".join(sorted(map(re.escape, WORDS), key=len, reverse=True))
    + r")(?![\w|]|[.,]\d|_[*\w])"
)
_USED = re.compile(r'href="#word-(\d+)"')
_NUMBERS = {word: place for place, word in enumerate(WORDS)}


def marked(text: str, set_low: Callable[[str], Markup]) -> Markup:
    """Escaped text in which the first place of each word of the glossary is a link with its meaning."""
    parts, end, seen = [], 0, set()
    for match in _PATTERN.finditer(text):
        word = match[0]
        if word.startswith("`") or word in seen:
            continue
        seen.add(word)
        parts += [set_low(text[end : match.start()]), _link(word, set_low)]
        end = match.end()
    return Markup("").join([*parts, set_low(text[end:])])


def papers_of(title: str) -> list[tuple[str, str]]:
    """The papers that a title names, with what they are."""
    return [(word, WORDS[word]) for word in WORDS if re.fullmatch(r"paper \d", word) and word in title.lower()]


def _link(word: str, set_low: Callable[[str], Markup]) -> Markup:
    return Markup(f'<a class="term" href="#word-{_NUMBERS[word]}" title="{escape(WORDS[word])}">{set_low(word)}</a>')


def entries(html: str) -> list[tuple[str, str, str]]:
    """(anchor, word, meaning) of the words that a rendered page links to, in alphabetical order."""
    used = {int(found) for found in _USED.findall(html)}
    words = sorted((word for word, place in _NUMBERS.items() if place in used), key=str.casefold)
    return [(f"word-{_NUMBERS[word]}", word, WORDS[word]) for word in words]
