"""
From a file with missing values
===============================

A CSV file with gaps goes through a scikit-learn pipeline: fill the gaps, fit, and look at the ROC curve of rows that
were not used.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.datasets import load

# %%
# First the file: the Statlog heart data with one value in twenty missing.

heart = load("hea")
table = np.column_stack([heart.data, heart.target == heart.target.max()]).astype(float)
rng = np.random.default_rng(0)
table[:, :-1][rng.uniform(size=heart.data.shape) < 0.05] = np.nan
path = Path(tempfile.mkdtemp()) / "heart.csv"
np.savetxt(path, table, delimiter=",", header=",".join([*heart.feature_names, "disease"]), comments="")

# %%
# Then what you would do with your own: read it, split it, fit it.

read = np.genfromtxt(path, delimiter=",", names=True)
columns = [name for name in read.dtype.names if name != "disease"]
X, y = np.column_stack([read[name] for name in columns]), read["disease"].astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
model = make_pipeline(SimpleImputer(strategy="median"), BayesianLSSVC()).fit(X_train, y_train)
print(f"accuracy on {len(y_test)} rows that were not used: {model.score(X_test, y_test):.2f}")

figure, axes = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
RocCurveDisplay.from_estimator(model, X_test, y_test, ax=axes, name="heart disease", plot_chance_level=True)
plt.show()
