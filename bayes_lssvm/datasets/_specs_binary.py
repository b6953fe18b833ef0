"""The ten binary sets of paper 0, Van Gestel et al. (2002): facts only, no arrays."""

from __future__ import annotations

from functools import partial
from typing import Final

from ._codings import german_text
from ._types import Spec, words

PAPER: Final = "paper 0, Van Gestel et al. (2002), Neural Computation 14, 1115-1147, section 7"
UCI: Final = "CC BY 4.0, as the UCI Machine Learning Repository publishes it today"
MASS: Final = "the R package MASS is GPL-2 | GPL-3; the values are facts; see source"

HEART_COLUMNS: Final = words(
    "age sex chest_pain_type resting_blood_pressure serum_cholesterol fasting_blood_sugar resting_ecg "
    "max_heart_rate exercise_angina oldpeak slope n_major_vessels thal"
)
PIMA_COLUMNS: Final = words("pregnant glucose pressure triceps insulin mass pedigree age")
GERMAN_COLUMNS: Final = words(
    "status duration credit_history purpose amount savings employment_since instalment_rate "
    "personal_status_sex other_debtors residence_since property age other_instalment_plans housing "
    "existing_credits job people_liable telephone foreign_worker"
)

_paper_0: Final = partial(Spec, origin="shipped", paper=PAPER, licence=UCI)

RSY: Final = _paper_0(
    name="rsy",
    title="Ripley's synthetic two-class problem in the plane",
    shape=(250, 2),
    test_rows=1000,
    feature_names=("xs", "ys"),
    target_name="yc",
    classes=(0, 1),
    target_names=("class 0", "class 1"),
    columns="xs and ys, the coordinates",
    source="R package MASS, synth.tr (250 rows, the data) and synth.te (1000 rows, the test part)",
    citation="Ripley, B. D. (1996). Pattern Recognition and Neural Networks. Cambridge University Press.",
    licence=MASS,
    notes="Each class is an equal mixture of two normals with one covariance. Prior probabilities are "
    "equal. OpenML's prnn_synth (464) is the training part only.",
)

CRA: Final = _paper_0(
    name="cra",
    title="Leptograpsus crabs: sex from species and five measurements",
    shape=(200, 6),
    feature_names=("species", "FL", "RW", "CL", "CW", "BD"),
    target_name="sex",
    classes=("F", "M"),
    target_names=("female", "male"),
    columns="species, 0 = blue (B), 1 = orange (O); in mm: FL frontal lobe size, RW rear width, CL carapace "
    "length, CW carapace width, BD body depth",
    source="R package MASS, crabs",
    citation="Campbell, N. A. and Mahon, R. J. (1974). A multivariate study of variation in two species of "
    "rock crab of genus Leptograpsus. Australian Journal of Zoology 22, 417-425.",
    licence=MASS,
    notes="The paper has six inputs and does not name them. Species and the five measurements, with sex "
    "as the class, is the likely reading.",
)

TIT: Final = _paper_0(
    name="tit",
    title="Titanic: survival from class, age and sex",
    shape=(2201, 3),
    feature_names=("class", "age", "sex"),
    target_name="survived",
    classes=("No", "Yes"),
    target_names=("died", "survived"),
    columns="class, 1, 2, 3 = first to third class, 4 = crew; age, 0 = adult, 1 = child; sex, 0 = female, 1 = male",
    source="R datasets, Titanic, spread out to one row a person",
    citation="Dawson, R. J. MacG. (1995). The 'unusual episode' data revisited. Journal of Statistics Education 3(3).",
    licence="R's datasets package is part of R (GPL-2 | GPL-3); the values are facts; see source",
    notes="Only 14 distinct inputs occur, so no classifier can be near perfect. The paper took its copy "
    "from Delve and does not print its coding; these are the numbers of the IDA benchmark before "
    "its scaling.",
)

BLD: Final = _paper_0(
    name="bld",
    title="BUPA liver disorders",
    shape=(345, 6),
    feature_names=("mcv", "alkphos", "sgpt", "sgot", "gammagt", "drinks"),
    target_name="selector",
    classes=(1, 2),
    target_names=("selector 1", "selector 2"),
    columns="blood tests: mcv mean corpuscular volume, alkphos alkaline phosphatase, sgpt alanine "
    "aminotransferase, sgot aspartate aminotransferase, gammagt gamma-glutamyl transpeptidase; "
    "drinks, half-pint equivalents of alcohol a day",
    source="UCI Machine Learning Repository, Liver Disorders",
    citation="Liver Disorders (1990). UCI Machine Learning Repository. https://doi.org/10.24432/C54G67",
    notes="Four rows are duplicates of others. The selector was made to split the data into parts for "
    "training and testing; it is no diagnosis (McDermott and Forsyth 2016, Pattern Recognition "
    "Letters 73, 41-43). It is the class of the published benchmark results all the same.",
)

GCR: Final = _paper_0(
    name="gcr",
    title="Statlog German credit",
    shape=(1000, 20),
    feature_names=GERMAN_COLUMNS,
    target_name="risk",
    classes=(1, 2),
    target_names=("good", "bad"),
    columns="duration in months, amount in DM, instalment_rate in per cent of income (four steps), "
    "residence_since (four steps), age in years, existing_credits and people_liable as counts; the "
    "others are coded: " + german_text(),
    source="UCI Machine Learning Repository, Statlog (German Credit Data), german.data",
    citation="Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository. "
    "https://doi.org/10.24432/C5NC77",
    notes="The paper does not print its numeric coding; these ordinal codes are one reading, and "
    'coding="onehot" gives one 0/1 column per level instead (59 columns). purpose, '
    "personal_status_sex, other_debtors, other_instalment_plans and housing have no order. Levels "
    "are named as the source names them; Grömping (2019, South German Credit Data) argues that "
    "several of these names are wrong.",
    options=("coding",),
)

HEA: Final = _paper_0(
    name="hea",
    title="Statlog heart disease",
    shape=(270, 13),
    feature_names=HEART_COLUMNS,
    target_name="heart_disease",
    classes=(1, 2),
    target_names=("absent", "present"),
    columns="age in years; sex, 1 = male; chest_pain_type 1-4; resting_blood_pressure in mm Hg; "
    "serum_cholesterol in mg/dl; fasting_blood_sugar, 1 = above 120 mg/dl; resting_ecg 0-2; "
    "max_heart_rate; exercise_angina, 1 = yes; oldpeak, ST depression by exercise; slope of the "
    "peak ST segment 1-3; n_major_vessels 0-3; thal, 3 = normal, 6 = fixed defect, 7 = reversible "
    "defect",
    source="UCI Machine Learning Repository, Statlog (Heart)",
    citation="Statlog (Heart). UCI Machine Learning Repository. https://doi.org/10.24432/C57303",
)

ION: Final = _paper_0(
    name="ion",
    title="Johns Hopkins ionosphere radar returns",
    shape=(351, 33),
    feature_names=("V1", *(f"V{i}" for i in range(3, 35))),
    target_name="return",
    classes=("bad", "good"),
    target_names=("no structure seen", "structure seen"),
    columns="V1, V3…V34: real (odd number) and imaginary (even) parts of the autocorrelation of 17 pulses",
    source="UCI Machine Learning Repository, Ionosphere",
    citation="Sigillito, V., Wing, S., Hutton, L. and Baker, K. (1989). Ionosphere. UCI Machine Learning "
    "Repository. https://doi.org/10.24432/C5W01B",
    notes="V2 of the source is constant and left out, which gives the paper's 33 inputs. One row is a duplicate.",
)

PID: Final = _paper_0(
    name="pid",
    title="Pima Indians diabetes",
    shape=(768, 8),
    feature_names=PIMA_COLUMNS,
    target_name="diabetes",
    classes=("neg", "pos"),
    target_names=("negative", "positive"),
    columns="pregnant, times; glucose, plasma concentration after two hours; pressure, diastolic, mm Hg; "
    "triceps, skin fold in mm; insulin, two-hour serum, mu U/ml; mass, body mass index; pedigree "
    "function; age in years",
    source="National Institute of Diabetes and Digestive and Kidney Diseases, formerly in the UCI "
    "repository; OpenML diabetes (37); R package mlbench, PimaIndiansDiabetes",
    citation="Smith, J. W. et al. (1988). Using the ADAP learning algorithm to forecast the onset of "
    "diabetes mellitus. Proc. Symposium on Computer Applications and Medical Care, 261-265.",
    licence="see source; the UCI repository no longer distributes this set",
    notes="Zeros stand for missing values in glucose (5 rows), pressure (35), triceps (227), insulin "
    "(374) and mass (11). They are left as they are, as the published benchmarks did.",
)

SNR: Final = _paper_0(
    name="snr",
    title="Sonar: mines against rocks",
    shape=(208, 60),
    feature_names=tuple(f"V{i}" for i in range(1, 61)),
    target_name="object",
    classes=("M", "R"),
    target_names=("mine (metal cylinder)", "rock"),
    columns="V1…V60: energy in 60 frequency bands, each between 0 and 1",
    source="UCI Machine Learning Repository, Connectionist Bench (Sonar, Mines vs. Rocks)",
    citation="Sejnowski, T. and Gorman, R. (1988). Connectionist Bench (Sonar, Mines vs. Rocks). UCI Machine "
    "Learning Repository. https://doi.org/10.24432/C5T01Q",
    notes="The rows are sorted by class, rocks first: shuffle before splitting.",
)

WBC: Final = _paper_0(
    name="wbc",
    title="Wisconsin breast cancer (original), complete cases",
    shape=(683, 9),
    feature_names=words(
        "Cl.thickness Cell.size Cell.shape Marg.adhesion Epith.c.size Bare.nuclei Bl.cromatin Normal.nucleoli Mitoses"
    ),
    target_name="class",
    classes=("benign", "malignant"),
    target_names=("benign", "malignant"),
    columns="nine cytological grades from 1 to 10: clump thickness, uniformity of cell size and of cell "
    "shape, marginal adhesion, single epithelial cell size, bare nuclei, bland chromatin, normal "
    "nucleoli, mitoses",
    source="UCI Machine Learning Repository, Breast Cancer Wisconsin (Original)",
    citation="Wolberg, W. (1990). Breast Cancer Wisconsin (Original). UCI Machine Learning Repository. "
    "https://doi.org/10.24432/C5HP4Z",
    notes="16 of the source's 699 rows miss bare nuclei and are left out. 234 rows repeat an earlier one.",
)

SPECS: Final = (RSY, CRA, TIT, BLD, GCR, HEA, ION, PID, SNR, WBC)
