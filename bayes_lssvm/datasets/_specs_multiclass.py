"""The multiclass sets of paper 2, Van Gestel et al. (2002), and the stock series: facts only, no arrays."""

from __future__ import annotations

from functools import partial
from typing import Final

from ._specs_binary import UCI
from ._types import Spec, words

PAPER: Final = "paper 2, Van Gestel et al. (2002), Neural Processing Letters 15, 45-58, Table I"

SOYBEAN_COLUMNS: Final = words(
    "date plant-stand precip temp hail crop-hist area-damaged severity seed-tmt germination plant-growth "
    "leaves leafspots-halo leafspots-marg leafspot-size leaf-shread leaf-malf leaf-mild stem lodging "
    "stem-cankers canker-lesion fruiting-bodies external-decay mycelium int-discolor sclerotia fruit-pods "
    "fruit-spots seed mold-growth seed-discolor seed-size shriveling roots"
)
# The attributes that vary over the 47 rows; the other 14 are constant.
SOYBEAN_VARYING: Final = (*range(10), 11, *range(19, 28), 34)

_paper_2: Final = partial(Spec, origin="shipped", paper=PAPER, licence=UCI)

BAL: Final = _paper_2(
    name="bal",
    title="Balance scale",
    shape=(625, 4),
    feature_names=("left_weight", "left_distance", "right_weight", "right_distance"),
    target_name="tip",
    classes=(0, 1, 2),
    target_names=("tips left", "balanced", "tips right"),
    columns="left_weight, left_distance, right_weight, right_distance, each from 1 to 5",
    source="UCI Machine Learning Repository, Balance Scale",
    citation="Siegler, R. (1976). Balance Scale. UCI Machine Learning Repository. https://doi.org/10.24432/C5488X",
    notes="A full factorial design without noise: the class is the sign of left weight × distance minus "
    "right weight × distance. The source writes its classes L, B and R.",
)

GLA: Final = _paper_2(
    name="gla",
    title="Glass identification",
    shape=(214, 9),
    feature_names=("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"),
    target_name="type",
    classes=(1, 2, 3, 5, 6, 7),
    target_names=(
        "building windows, float processed",
        "building windows, not float processed",
        "vehicle windows, float processed",
        "containers",
        "tableware",
        "headlamps",
    ),
    columns="RI refractive index; Na, Mg, Al, Si, K, Ca, Ba, Fe, weight per cent of the oxides",
    source="UCI Machine Learning Repository, Glass Identification",
    citation="German, B. (1987). Glass Identification. UCI Machine Learning Repository. "
    "https://doi.org/10.24432/C5WW2P",
    notes="Type 4 (vehicle windows, not float processed) does not occur. One row is a duplicate.",
)

VEH: Final = _paper_2(
    name="veh",
    title="Statlog vehicle silhouettes",
    shape=(846, 18),
    feature_names=words(
        "Comp Circ D.Circ Rad.Ra Pr.Axis.Ra Max.L.Ra Scat.Ra Elong Pr.Axis.Rect Max.L.Rect Sc.Var.Maxis "
        "Sc.Var.maxis Ra.Gyr Skew.Maxis Skew.maxis Kurt.maxis Kurt.Maxis Holl.Ra"
    ),
    target_name="vehicle",
    classes=("bus", "opel", "saab", "van"),
    target_names=("double-decker bus", "Opel Manta", "Saab 9000", "Chevrolet van"),
    columns="18 shape features of a silhouette: compactness, circularity, distance circularity, radius "
    "ratio, principal axis aspect ratio, maximum length aspect ratio, scatter ratio, elongatedness, "
    "principal axis rectangularity, maximum length rectangularity, scaled variance along the major "
    "and the minor axis, scaled radius of gyration, skewness about the major and the minor axis, "
    "kurtosis about the minor and the major axis, hollows ratio",
    source="UCI Machine Learning Repository, Statlog (Vehicle Silhouettes)",
    citation="Siebert, J. P. (1987). Vehicle recognition using rule based methods. Turing Institute Research "
    "Memorandum TIRM-87-018.",
)

ZOO: Final = _paper_2(
    name="zoo",
    title="Zoo: the kind of animal from its traits",
    shape=(101, 16),
    feature_names=words(
        "hair feathers eggs milk airborne aquatic predator toothed backbone breathes venomous fins legs tail "
        "domestic catsize"
    ),
    target_name="type",
    classes=("amphibian", "bird", "fish", "insect", "mammal", "mollusc.et.al", "reptile"),
    target_names=("amphibian", "bird", "fish", "insect", "mammal", "other invertebrate", "reptile"),
    columns="fifteen traits, 0 = no, 1 = yes, and legs, a count from 0 to 8",
    source="UCI Machine Learning Repository, Zoo",
    citation="Forsyth, R. (1990). Zoo. UCI Machine Learning Repository. https://doi.org/10.24432/C5R59V",
    notes="The animals' names are left out. 42 rows repeat an earlier one.",
)

SSD: Final = _paper_2(
    name="ssd",
    title="Small soybean diseases",
    shape=(47, 21),
    feature_names=tuple(SOYBEAN_COLUMNS[i] for i in SOYBEAN_VARYING),
    target_name="disease",
    classes=(1, 2, 3, 4),
    target_names=("diaporthe stem canker", "charcoal rot", "rhizoctonia root rot", "phytophthora rot"),
    columns="the source's attributes, as its integer codes, under its names: " + ", ".join(SOYBEAN_COLUMNS),
    source="UCI Machine Learning Repository, Soybean (Small)",
    citation="Michalski, R. S. and Chilausky, R. L. (1980). Learning by being told and learning from "
    "examples. International Journal of Policy Analysis and Information Systems 4(2).",
    notes="The paper's 21 inputs are those of the 35 that vary; columns=35 keeps the 14 constant ones "
    "too. The classes are D1 to D4 in the source. Some attributes are categories without an order.",
    options=("columns",),
)

EUSTOCKMARKETS: Final = Spec(
    name="eustockmarkets",
    title="Daily closing prices of four European stock indices, 1991-1998",
    origin="shipped",
    paper="stands in for the series of paper 4, Suykens, Bayesian inference for LS-SVMs (lecture 7), DAX example",
    shape=(1860, 4),
    feature_names=("DAX", "SMI", "CAC", "FTSE"),
    target_name="",
    classes=(),
    target_names=(),
    columns="closing prices: DAX (Germany), SMI (Switzerland), CAC (France), FTSE (United Kingdom)",
    source="R datasets, EuStockMarkets, provided to R by Erste Bank AG, Vienna",
    citation="R Core Team. R: A Language and Environment for Statistical Computing. Package datasets, EuStockMarkets.",
    licence="R's datasets package is part of R (GPL-2 | GPL-3); the values are facts; see source",
    notes="A time series in business time, weekends and holidays left out, without a target: build one by "
    "lagging. The lecture's other inputs (S&P 500, bonds) and its exact period are not public.",
)

IRIS: Final = Spec(
    name="iris",
    title="Iris plants",
    origin="scikit-learn",
    paper=PAPER,
    shape=(150, 4),
    feature_names=("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"),
    target_name="species",
    classes=(0, 1, 2),
    target_names=("setosa", "versicolor", "virginica"),
    columns="length and width of sepals and petals in cm",
    source="scikit-learn, sklearn.datasets.load_iris; originally Fisher (1936)",
    citation="Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. Annals of "
    "Eugenics 7, 179-188.",
    licence=UCI + "; nothing is shipped here, the copy is scikit-learn's",
    notes="One row is a duplicate.",
)

WINE: Final = Spec(
    name="wine",
    title="Wine recognition",
    origin="scikit-learn",
    paper=PAPER,
    shape=(178, 13),
    feature_names=words(
        "alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols flavanoids nonflavanoid_phenols "
        "proanthocyanins color_intensity hue od280/od315_of_diluted_wines proline"
    ),
    target_name="cultivar",
    classes=(0, 1, 2),
    target_names=("class_0", "class_1", "class_2"),
    columns="thirteen chemical and optical measurements, as named",
    source="scikit-learn, sklearn.datasets.load_wine; originally the UCI Machine Learning Repository, Wine",
    citation="Aeberhard, S. and Forina, M. (1992). Wine. UCI Machine Learning Repository.",
    licence=UCI + "; nothing is shipped here, the copy is scikit-learn's",
)

SPECS: Final = (BAL, GLA, VEH, ZOO, SSD, EUSTOCKMARKETS, IRIS, WINE)
