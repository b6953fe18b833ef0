"""Sets that are read from the user's own folder or from OpenML: facts only, no arrays."""

from __future__ import annotations

from functools import partial
from typing import Final

from ._generated import PAPER_1
from ._specs_binary import GERMAN_COLUMNS, HEART_COLUMNS, PIMA_COLUMNS, UCI
from ._specs_multiclass import PAPER as PAPER_2
from ._types import Spec, words

RATSCH: Final = (
    "Rätsch, G., Onoda, T. and Müller, K.-R. (2001). Soft margins for AdaBoost. Machine Learning 42(3), 287-320."
)
SCALED: Final = "Inputs are z-scored. "
TEN: Final = "The first ten of the benchmark's partitions."
NONE: Final = "No published partition is at hand: draw random ones of `split_sizes`."
OPENML: Final = " OpenML's copy has its own scaling, row order and labels, and no partitions."

_read: Final = partial(Spec, origin="external", options=("openml",))


def _ida(
    name: str,
    title: str,
    shape: tuple[int, int],
    sizes: tuple[int, int],
    notes: str,
    *,
    columns: str = "not named in the benchmark",
    feature_names: tuple[str, ...] = (),
    openml: int | None = None,
) -> Spec:
    return _read(
        name=f"ida_{name}",
        title=title,
        paper=PAPER_1 + ", Table 2",
        shape=shape,
        feature_names=feature_names or tuple(f"x{i}" for i in range(1, shape[1] + 1)),
        target_name="class",
        classes=(-1, 1),
        target_names=("-1", "1"),
        columns=columns,
        source="the IDA (Fraunhofer FIRST) benchmark repository of Rätsch, Onoda and Müller",
        citation=RATSCH,
        licence="see source",
        notes=notes,
        file=f"ida_{name}.npz",
        openml=openml,
        split_sizes=sizes,
    )


IDA: Final = (
    _ida(
        "banana",
        "IDA banana: two crescents in the plane",
        (5300, 2),
        (400, 4900),
        SCALED + TEN + OPENML,
        columns="x1 and x2, the coordinates",
        openml=1460,
    ),
    _ida("breast_cancer", "IDA breast cancer (Ljubljana)", (277, 9), (200, 77), "Scaled inputs. " + TEN),
    _ida(
        "diabetis",
        "IDA diabetes: z-scored Pima",
        (768, 8),
        (468, 300),
        SCALED + "The rows of pid, reordered, zeros for missing values included. One partition, number unknown.",
        columns="as in pid",
        feature_names=PIMA_COLUMNS,
    ),
    _ida("flare_solar", "IDA solar flare", (1066, 9), (666, 400), "Small integer codes, not scaled. " + NONE),
    _ida(
        "german",
        "IDA German credit, z-scored ordinal codes",
        (1000, 20),
        (700, 300),
        SCALED + "The purpose A410 was coded 410, far from the other levels. " + TEN,
        columns="as in gcr with ordinal codes",
        feature_names=GERMAN_COLUMNS,
    ),
    _ida(
        "heart",
        "IDA heart: z-scored Statlog heart",
        (270, 13),
        (170, 100),
        SCALED + TEN,
        columns="as in hea",
        feature_names=HEART_COLUMNS,
    ),
    _ida("image", "IDA image segments, two groups of classes", (2310, 18), (1300, 1010), SCALED + TEN),
    _ida(
        "ringnorm",
        "IDA ringnorm: a unit normal inside a wide one",
        (7400, 20),
        (400, 7000),
        SCALED + "Class 1 is the wide normal; a = 2/√20 (see ringnorm). " + TEN + OPENML,
        columns="x1…x20, the coordinates",
        openml=1496,
    ),
    _ida(
        "splice",
        "IDA splice junctions of DNA, two groups of classes",
        (3175, 60),
        (1000, 2175),
        "Bases are coded 1 to 4, not scaled. " + NONE,
        columns="x1…x60, the base at 60 places",
    ),
    _ida("thyroid", "IDA thyroid: healthy against not", (215, 5), (140, 75), "Scaled inputs. " + NONE),
    _ida(
        "titanic",
        "IDA Titanic: survival from class, age and sex",
        (2201, 3),
        (150, 2051),
        SCALED + TEN,
        columns="as in tit",
        feature_names=("class", "age", "sex"),
    ),
    _ida(
        "twonorm",
        "IDA twonorm: two normals with unit covariance",
        (7400, 20),
        (400, 7000),
        SCALED + NONE + OPENML,
        columns="x1…x20, the coordinates",
        openml=1507,
    ),
    _ida(
        "waveform",
        "IDA waveform, one class against two",
        (5000, 21),
        (400, 4600),
        SCALED + "Class 1 mixes waves 1 and 3 (see waveform). " + TEN,
        columns="x1…x21, the wave at 21 points",
    ),
)

USPS: Final = _read(
    name="usps",
    title="US Postal Service handwritten digits",
    paper="paper 2, Van Gestel et al. (2002), Neural Processing Letters 15, 45-58, section 5",
    shape=(7291, 256),
    test_rows=2007,
    feature_names=tuple(f"pixel_{row}_{column}" for row in range(16) for column in range(16)),
    target_name="digit",
    classes=tuple(range(10)),
    target_names=tuple(map(str, range(10))),
    columns="grey values from -1 to 1 of a 16 × 16 image, row by row",
    source="US Postal Service digits in the partition of LeCun et al., e.g. from the site of The Elements "
    "of Statistical Learning (zip.train, zip.test)",
    citation="LeCun, Y. et al. (1990). Handwritten digit recognition with a back-propagation network. "
    "Advances in Neural Information Processing Systems 2.",
    licence="see source",
    file="usps.npz",
)

NEW_THYROID: Final = _read(
    name="new_thyroid",
    title="New thyroid: thyroid function from five laboratory tests",
    paper=PAPER_2,
    shape=(215, 5),
    feature_names=("T3_resin", "total_thyroxin", "total_triiodothyronine", "TSH", "max_abs_TSH_diff"),
    target_name="function",
    classes=(1, 2, 3),
    target_names=("normal", "hyperthyroid", "hypothyroid"),
    columns="T3-resin uptake in per cent; total serum thyroxin; total serum triiodothyronine; basal TSH; "
    "largest difference of TSH after injection of thyrotropin-releasing hormone",
    source="UCI Machine Learning Repository, Thyroid Disease (new-thyroid)",
    citation="Quinlan, R. (1986). Thyroid Disease. UCI Machine Learning Repository. https://doi.org/10.24432/C5D010",
    licence=UCI,
    file="new_thyroid.csv.gz",
)

DERMATOLOGY: Final = _read(
    name="dermatology",
    title="Dermatology: six erythemato-squamous diseases",
    paper=PAPER_2,
    shape=(366, 34),
    feature_names=words(
        "erythema scaling definite_borders itching koebner_phenomenon polygonal_papules follicular_papules "
        "oral_mucosal_involvement knee_and_elbow_involvement scalp_involvement family_history "
        "melanin_incontinence eosinophils_in_the_infiltrate PNL_infiltrate fibrosis_of_the_papillary_dermis "
        "exocytosis acanthosis hyperkeratosis parakeratosis clubbing_of_the_rete_ridges "
        "elongation_of_the_rete_ridges thinning_of_the_suprapapillary_epidermis spongiform_pustule "
        "munro_microabcess focal_hypergranulosis disappearance_of_the_granular_layer "
        "vacuolisation_and_damage_of_basal_layer spongiosis saw-tooth_appearance_of_retes "
        "follicular_horn_plug perifollicular_parakeratosis inflammatory_monoluclear_inflitrate "
        "band-like_infiltrate Age"
    ),
    target_name="disease",
    classes=(1, 2, 3, 4, 5, 6),
    target_names=(
        "psoriasis",
        "seborrhoeic dermatitis",
        "lichen planus",
        "pityriasis rosea",
        "chronic dermatitis",
        "pityriasis rubra pilaris",
    ),
    columns="grades from 0 to 3 of clinical and histopathological signs, family_history 0 or 1, Age in "
    "years; names are the source's",
    source="UCI Machine Learning Repository, Dermatology",
    citation="Ilter, N. and Guvenir, H. (1998). Dermatology. UCI Machine Learning Repository. "
    "https://doi.org/10.24432/C5FK5P",
    licence=UCI,
    notes="Age is missing in 8 rows and NaN there; drop_missing=True leaves these rows out.",
    file="dermatology.csv.gz",
    options=("openml", "drop_missing"),
    openml="dermatology",
)

SPECS: Final = (*IDA, USPS, NEW_THYROID, DERMATOLOGY)
