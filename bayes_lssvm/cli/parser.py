"""The arguments of each command, with help and examples."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

from .._version import __version__
from ..base.text import InputError
from .choices import (
    CODINGS,
    CRITERIA,
    DECIMALS,
    DECODINGS,
    DIRECTIONS,
    FIGURES,
    IMPUTATIONS,
    KERNEL_NAMES,
    KERNEL_PARAMETERS,
    METHODS,
    MODERATIONS,
    NOISES,
    PRIORS,
    SELECTION_KERNELS,
)

_DESCRIPTION = """\
Least-squares support vector machines by the Bayesian evidence framework: no tuning, calibrated class
probabilities, error bars. Tables are UTF-8 text with a header, separated by commas, semicolons or tabs."""

_EXAMPLES = """\
examples:
  bayes-lssvm datasets                                     the data sets that are included
  bayes-lssvm datasets ripley --csv ripley.csv             write one as a table
  bayes-lssvm fit ripley.csv --target yc --out model.npz   fit a classifier and save it
  bayes-lssvm fit data.csv --target y --report card.html   the same for your file, with a model card
  bayes-lssvm predict model.npz new.csv --out out.csv      class probabilities for new rows
  bayes-lssvm plot model.npz --out surface.png             a picture of the model
  bayes-lssvm compare ripley.csv --target yc               rank kernels by their evidence
  bayes-lssvm select heart.csv --target class              which inputs the evidence supports
  bayes-lssvm trust ripley.csv --target yc                 can probabilities and closed forms be trusted?
  bayes-lssvm marginalise ripley.csv --target yc           integrate the hyperparameters out

exit codes: 0 success, 2 a mistake in the arguments or the data, 130 interrupted"""

_KERNEL_NAMES_HELP = f"""\
kernels:
  a name           {", ".join(KERNEL_NAMES)}
  with parameters  rbf:sigma=1.3   poly:degree=2,scale=4   ard:scales=1/0.5   mlp:kappa=0.1,theta=1
  sums, products   linear+rbf   linear*rbf   (linear+0.5*rbf:sigma=2)*periodic
  of some inputs   rbf[0]+linear[1/2], counted from 0
Inputs are standardised first, so widths are in standard deviations."""

_KERNEL_HELP = (
    _KERNEL_NAMES_HELP
    + """ The search starts at the
parameters given; with --no-refine they are used as given."""
)

_PRIOR_HELP = (
    _KERNEL_NAMES_HELP
    + """ Kernel parameters are
integrated out; with --fixed-kernel they keep the given values.

priors, of the log of each parameter:
  normal           normal:0,3 or normal:mean=0,sd=3, mean and standard deviation; normal alone is this one
  box              box:-10,10 or box:low=-10,high=10, constant between two bounds
  flat             for --method laplace only: it makes the integral over the hyperparameters infinite
--prior applies to log mu, log zeta and the kernel's log parameters; --prior-mu, --prior-zeta and --prior-kernel
replace it. Numeric targets are standardised too, so mu and zeta refer to the standardised target."""
)

_FIT_EXAMPLES = """
noise of numeric targets: learned lets its variance depend on the inputs, student allows for gross errors; each is kept
only where the evidence prefers it to constant noise. --weights names the column of known relative precisions.

many rows: more than 5000 rows, or several files, are fitted with 500 landmarks unless --landmarks or --exact says
otherwise. Time then grows in proportion to the rows, and memory does not grow.

examples:
  bayes-lssvm fit data.csv --target y
  bayes-lssvm fit data.csv --target y --impute median --out model.npz --report card.html
  bayes-lssvm fit data.csv --target y --ignore id name --out model.npz
  bayes-lssvm fit data.csv --target y --kernel rbf:sigma=1.3 --no-refine
  bayes-lssvm fit data.csv --target y --class-prior no=0.9,yes=0.1 --json
  bayes-lssvm fit data.csv --target y --kernel ard --criterion press-laplace
  bayes-lssvm fit iris.csv --target class --coding ecoc --decoding bayes
  bayes-lssvm fit data.csv --target y --weights n_measured --noise student
  bayes-lssvm fit folder/*.parquet --target y --landmarks 1000 --kept sums --out model.npz"""

_SELECT_EXAMPLES = """\
directions: backward removes inputs, forward adds them, and stepwise adds or removes them, each optimising the kernel
again at every step; ard optimises a kernel with one scale for each input once, and then removes the least relevant
inputs with the scales fixed.

examples:
  bayes-lssvm select data.csv --target y
  bayes-lssvm select data.csv --target y --direction forward --kernel rbf
  bayes-lssvm select data.csv --target y --direction ard --out selected.csv"""

_PREDICT_EXAMPLES = """\
Columns are matched to the model's inputs by name; their order does not matter, and other columns are ignored.
A class prior or costs are one number for each class, in sorted order, or label=number for all classes.

examples:
  bayes-lssvm predict model.npz new.csv
  bayes-lssvm predict model.npz new.csv --out predictions.csv
  bayes-lssvm predict model.npz new.parquet --out predictions.csv     in pieces, whatever its length
  bayes-lssvm predict model.npz new.csv --interval 0.9     where 90 % of new targets lie; for classes, label sets
  bayes-lssvm predict model.npz new.csv --class-prior 0.9,0.1
  bayes-lssvm predict model.npz new.csv --costs no=1,yes=5     missing a yes costs five times as much"""

_COMPARE_EXAMPLES = """
examples:
  bayes-lssvm compare data.csv --target y
  bayes-lssvm compare data.csv --target y --kernels linear rbf linear+rbf --prior-sensitivity
  bayes-lssvm compare data.csv --target y --kernel-parameters maximised --no-occam"""

_SEARCH_EXAMPLES = """\
Each step tries every sum and product that adds, removes or replaces one base kernel, and continues with the best if
its Bayes factor is large enough. The result can be given to fit --kernel. With several inputs a base kernel is tried
on all of them and on each alone: rbf[0], rbf[1], …, counted from 0.

examples:
  bayes-lssvm search data.csv --target y
  bayes-lssvm search data.csv --target y --kernels linear rbf periodic matern12 --budget 50000"""

_TRUST_EXAMPLES = """
examples:
  bayes-lssvm trust data.csv --target y
  bayes-lssvm trust data.csv --target y --kernel linear
  bayes-lssvm trust data.csv --target y --kernel rbf:sigma=1.3 --fixed-kernel --prior normal:sd=10 --json"""

_MARGINALISE_EXAMPLES = """
methods: quadrature and mackay integrate over at most one kernel parameter, ccd over two or more, the others over any
number; quadrature is exact to the tolerance, mackay and laplace are approximations, importance and nuts have a
Monte-Carlo error.

examples:
  bayes-lssvm marginalise data.csv --target y
  bayes-lssvm marginalise data.csv --target y --prior box:-10,10 --prior-kernel normal:0,1
  bayes-lssvm marginalise data.csv --target y --kernel ard --method ccd --out posterior.nc
  bayes-lssvm marginalise data.csv --target y --predict new.csv --predictions predictions.csv"""

_PLOT_EXAMPLES = """\
kinds:
  surface         class probabilities or means over one or two inputs, the others at their medians
  reliability     predicted and observed frequencies of left-out rows, with error bars
  left-out        targets and predictions of left-out rows, for a regression
  evidence        the evidence as a function of a kernel parameter
  relevance       which inputs matter
  hyperposterior  the posterior of log mu and log zeta, and Laplace's Gaussian
Without --kind: the surface for one or two inputs, else reliability or left-out.

examples:
  bayes-lssvm plot model.npz --out surface.png
  bayes-lssvm plot model.npz --kind evidence --out evidence.svg
  bayes-lssvm plot model.npz --kind surface --features age income --out surface.png
  bayes-lssvm plot model.npz --kind reliability --data new.csv --target y --out reliability.png"""

_DATASETS_EXAMPLES = """\
examples:
  bayes-lssvm datasets
  bayes-lssvm datasets ripley
  bayes-lssvm datasets ripley --csv ripley.csv
  bayes-lssvm datasets ripley --test --csv ripley_test.csv"""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence like all others."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help).")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; the chosen command is `run` of the result."""
    parser = _Parser(
        prog="bayes-lssvm",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"bayes-lssvm {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)

    def command(name: str, summary: str, epilog: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    _add_fit(command("fit", "Fit a model to a table and show what was found.", _KERNEL_HELP + "\n" + _FIT_EXAMPLES))
    _add_predict(command("predict", "Predict each row of a table with a saved model.", _PREDICT_EXAMPLES))
    summary = "Rank kernels by their evidence: Bayes factors and probabilities."
    _add_compare(command("compare", summary, _KERNEL_HELP + "\n" + _COMPARE_EXAMPLES))
    summary = "Build a kernel from sums and products of base kernels by the evidence."
    _add_search(command("search", summary, _SEARCH_EXAMPLES))
    summary = "Select the inputs that the evidence supports, backward, forward, stepwise or by relevance."
    _add_select(command("select", summary, _SELECT_EXAMPLES))
    summary = "Check what can be trusted on a table: probabilities of left-out rows, exact integrals, and a verdict."
    _add_trust(command("trust", summary, _PRIOR_HELP + "\n" + _TRUST_EXAMPLES))
    summary = "Integrate the hyperparameters out: their posterior, the evidence, and predictions for new rows."
    _add_marginalise(command("marginalise", summary, _PRIOR_HELP + "\n" + _MARGINALISE_EXAMPLES))
    summary = "Draw what a saved model found, as PNG, SVG or PDF."
    _add_plot(command("plot", summary, _PLOT_EXAMPLES))
    _add_datasets(command("datasets", "List the data sets, describe one, or write one as a table.", _DATASETS_EXAMPLES))
    return parser


def _later(module: str, name: str, *, first: str | None = None) -> Callable[[argparse.Namespace], None]:
    """A command of a module that is imported when it is run: parsing needs nothing of what commands need.

    `first` is what is done beforehand by the module of that name, which imports little; it returns what it has `said`.
    """

    def run(arguments: argparse.Namespace) -> None:
        if first is not None:
            arguments.said = getattr(import_module(".beforehand", __package__), first)(arguments)
        getattr(import_module(f".{module}", __package__), name)(arguments)

    return run


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number ≥ 0")
    return int(text)


def _share(text: str) -> float:
    """A share between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"a share between 0 and 1 is needed, such as 0.9, not {text!r}")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number ≥ 1")
    return int(text)


def _tolerance(text: str) -> float:
    value = _finite(text)
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def _price(text: str) -> float:
    value = _finite(text)
    if not value >= 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number ≥ 0")
    return value


def _finite(text: str) -> float:
    """The number that the text is; NaN where it is none, or infinite."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _add_table(parser: argparse.ArgumentParser, *, many: bool = False) -> None:
    if many:
        text = "table with a header; - is standard input; or several CSV or Parquet files, folders or patterns"
        parser.add_argument("data", nargs="+", help=text)
    else:
        parser.add_argument("data", help="table with a header; - is standard input")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column to predict")
    parser.add_argument(
        "--ignore", nargs="+", action="extend", default=[], metavar="COLUMN", help="columns to leave out"
    )
    parser.add_argument(
        "--categories",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns whose values are categories, even if they look like numbers",
    )
    parser.add_argument(
        "--impute",
        choices=IMPUTATIONS,
        help="missing values: fill in the median (for text the most frequent category), or drop the rows",
    )
    parser.add_argument(
        "--decimal", choices=DECIMALS, help="how to read numbers such as 1,234 if the file leaves it open"
    )
    parser.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default="auto",
        help="auto: classification if the target is text or has two values, else regression",
    )


def _add_training(parser: argparse.ArgumentParser, *, many: bool = False) -> None:
    _add_table(parser, many=many)
    parser.add_argument("--no-refine", dest="refine", action="store_false", help="use the kernel parameters as given")
    parser.add_argument(
        "--no-occam", dest="occam", action="store_false", help="use the evidence without the Occam factor"
    )
    parser.add_argument(
        "--seed", type=_seed, default=0, help="seed of the subset that screens starting points if N > 400 (default 0)"
    )


def _add_weights(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--weights", metavar="COLUMN", help="column with the relative noise precision of each row")


def _add_fit(parser: argparse.ArgumentParser) -> None:
    _add_training(parser, many=True)
    parser.add_argument(
        "--kernel",
        default="auto",
        help="name, optionally with parameters; see below. By default rbf, and with landmarks a scale for each input "
        "where the evidence asks for them",
    )
    parser.add_argument(
        "--criterion",
        choices=CRITERIA,
        default="evidence",
        help="what chooses kernel parameters: the evidence, or leave-one-out errors (default evidence)",
    )
    parser.add_argument(
        "--prior", choices=PRIORS, default="default", help="prior of μ, ζ and kernel parameters; flat: the papers' rule"
    )
    _add_weights(parser)
    parser.add_argument(
        "--noise", choices=NOISES, default="constant", help="noise of a numeric target; see below (default constant)"
    )
    parser.add_argument("--coding", choices=CODINGS, help="code book for more than two classes (default ovo)")
    parser.add_argument("--decoding", choices=DECODINGS, help="how the binary classifiers are combined (default auto)")
    parser.add_argument("--class-prior", metavar="P,P", help="class probabilities among the rows to be predicted")
    parser.add_argument(
        "--moderation",
        choices=(*MODERATIONS, "logistic"),
        help="form of the class probabilities (default loo); logistic is for models with landmarks, and their default",
    )
    parser.add_argument(
        "--landmarks", type=_count, metavar="M", help="fit a fixed-size model with M landmarks; see below"
    )
    parser.add_argument("--exact", action="store_true", help="use all rows exactly, however many")
    parser.add_argument(
        "--kept",
        metavar="FOLDER",
        help="keep the results of finished files here, so that an interrupted fit can resume",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of a Dask scheduler whose workers read the files"
    )
    parser.add_argument("--out", metavar="FILE", help="save the model, for example as model.npz")
    parser.add_argument("--report", metavar="FILE", help="write a model card, for example as card.html")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=_later("fit", "run_fit", first="prepare_fit"))


def _add_predict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="model file that fit wrote")
    parser.add_argument("data", help="table with a header; - is standard input")
    parser.add_argument("--out", metavar="FILE", help="write the predictions to this CSV file, not to standard output")
    parser.add_argument(
        "--impute",
        choices=IMPUTATIONS[:1],
        help="fill in missing values with the median or the most frequent category of the training rows",
    )
    parser.add_argument("--class-prior", metavar="P,P", help="class probabilities among these rows")
    parser.add_argument("--costs", metavar="C,C", help="cost of misclassifying a member of each class")
    parser.add_argument(
        "--interval",
        type=_share,
        metavar="P",
        help="add an interval, or a set of labels, that contains a share P of new targets, such as 0.9",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of CSV")
    parser.set_defaults(run=_later("predict", "run_predict"))


def _add_compare(parser: argparse.ArgumentParser) -> None:
    _add_training(parser)
    _add_weights(parser)
    kernels = ("linear", "poly2", "poly3", "rbf", "ard")
    parser.add_argument(
        "--kernels", nargs="+", default=list(kernels), metavar="KERNEL", help=f"default: {' '.join(kernels)}"
    )
    parser.add_argument(
        "--kernel-parameters",
        choices=KERNEL_PARAMETERS,
        default="integrated",
        help="integrated: each parameter has its Occam factor; maximised: as in the papers (default integrated)",
    )
    parser.add_argument(
        "--prior-sensitivity", action="store_true", help="also show the table under priors half and twice as wide"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=_later("fit", "run_compare"))


def _add_search(parser: argparse.ArgumentParser) -> None:
    _add_table(parser)
    _add_weights(parser)
    bases = ("linear", "rbf", "periodic")
    parser.add_argument(
        "--kernels",
        nargs="+",
        default=list(bases),
        choices=KERNEL_NAMES,
        metavar="KERNEL",
        help=f"base kernels by name (default: {' '.join(bases)})",
    )
    parser.add_argument(
        "--budget",
        type=_count,
        default=20_000,
        metavar="N",
        help="largest number of evaluations of the evidence (default 20000)",
    )
    parser.add_argument(
        "--seed", type=_seed, default=0, help="seed of the subset that screens starting points if N > 300 (default 0)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=_later("search", "run_search"))


def _add_select(parser: argparse.ArgumentParser) -> None:
    _add_table(parser)
    _add_weights(parser)
    parser.add_argument("--direction", choices=DIRECTIONS, default="backward", help="see below (default backward)")
    parser.add_argument("--kernel", choices=SELECTION_KERNELS, help="default: ard backward, rbf forward")
    parser.add_argument(
        "--price",
        type=_price,
        metavar="NATS",
        help="gain in log evidence that an input must bring (default ard 2, else 0)",
    )
    parser.add_argument(
        "--no-occam", dest="occam", action="store_false", help="use the evidence without the Occam factor"
    )
    parser.add_argument(
        "--seed", type=_seed, default=0, help="seed of the subset that screens starting points if N > 300 (default 0)"
    )
    parser.add_argument("--out", metavar="FILE", help="write the selected columns and the target to this CSV file")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=_later("select", "run_select"))


def _add_integrated(parser: argparse.ArgumentParser, seed_help: str) -> None:
    _add_table(parser)
    _add_weights(parser)
    parser.add_argument("--kernel", default="rbf", help="name, optionally with parameters; see below (default rbf)")
    parser.add_argument("--fixed-kernel", action="store_true", help="keep the kernel's parameters as given")
    parser.add_argument(
        "--prior", default="normal:0,3", help="prior of every log parameter; see below (default normal:0,3)"
    )
    parser.add_argument("--prior-mu", metavar="PRIOR", help="prior of log mu")
    parser.add_argument("--prior-zeta", metavar="PRIOR", help="prior of log zeta")
    parser.add_argument(
        "--prior-kernel",
        nargs="+",
        metavar="PRIOR",
        help="prior of the kernel's log parameters: one for all, or one each",
    )
    parser.add_argument("--seed", type=_seed, default=0, help=f"{seed_help} (default 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def _add_trust(parser: argparse.ArgumentParser) -> None:
    _add_integrated(parser, "seed of the subset if N > 500, and of the draws")
    parser.set_defaults(run=_later("marginal", "run_trust"))


def _add_marginalise(parser: argparse.ArgumentParser) -> None:
    _add_integrated(parser, "seed of the methods that sample")
    parser.add_argument("--method", choices=METHODS, default="quadrature", help="see below (default quadrature)")
    parser.add_argument(
        "--draws", type=_count, metavar="N", help="number of draws, for importance and for each chain of nuts"
    )
    parser.add_argument("--chains", type=_count, metavar="N", help="number of chains, for nuts (default 4)")
    parser.add_argument("--warmup", type=_count, metavar="N", help="steps of adaptation, for nuts (default 500)")
    parser.add_argument(
        "--no-check",
        dest="check",
        action="store_const",
        const=False,
        help="for nuts: warn about chains that did not mix instead of stopping",
    )
    parser.add_argument(
        "--tolerance",
        type=_tolerance,
        metavar="NATS",
        help="error allowed in the log evidence, for quadrature and mackay",
    )
    parser.add_argument("--out", metavar="FILE", help="save the posterior as netCDF, for example as posterior.nc")
    parser.add_argument("--predict", metavar="TABLE", help="predict the rows of this table; - is standard input")
    parser.add_argument(
        "--predictions", metavar="FILE", help="write the predictions to this CSV file, not to standard output"
    )
    parser.set_defaults(run=_later("marginal", "run_marginalise"))


def _add_plot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="model file that fit wrote")
    parser.add_argument("--kind", choices=FIGURES, help="what to draw; see below")
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="figure to write; its ending sets the format: .png, .svg, .pdf"
    )
    parser.add_argument("--features", nargs="+", metavar="INPUT", help="one or two inputs, for surface")
    parser.add_argument(
        "--parameter", metavar="NAME", help="kernel parameter to vary, for evidence (default the first)"
    )
    parser.add_argument("--data", metavar="TABLE", help="rows to draw instead of the training rows")
    parser.add_argument("--target", metavar="COLUMN", help="column of --data with their labels or values")
    parser.add_argument(
        "--left-out", action="store_true", help="--data are the training rows; each is left out in turn"
    )
    parser.set_defaults(run=_later("plot", "run_plot"))


def _add_datasets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="a name or alias from the list")
    parser.add_argument("--csv", metavar="FILE", help="write the data set as a table; - is standard output")
    parser.add_argument("--test", action="store_true", help="write the fixed test part instead")
    parser.add_argument("--openml", action="store_true", help="fetch a set that is not included from OpenML")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.set_defaults(run=_later("datasets", "run_datasets"))
