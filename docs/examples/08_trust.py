"""
Can the closed forms be trusted here?
=====================================

`trust` compares the closed forms with exact integrals on your data. Here it checks a kernel that fits the data and one
that is far too wide.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_lssvm import trust
from bayes_lssvm.datasets import load
from bayes_lssvm.kernels import RBF

ripley = load("ripley")
reports = {
    f"kernel width {width:g}": trust(ripley.data, ripley.target, kernel=RBF(width), fixed_kernel=True, progress=False)
    for width in (1.3, 8.0)
}
for name, report in reports.items():
    print(f"{name}: {report.verdict}")

# %%
# The error bar of log μ by each method. For the wide kernel MacKay's is a third of the exact one.

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for shift, (name, report) in zip((-0.2, 0.2), reports.items(), strict=True):
    rows = [row for row in report.as_dict()["ladder"] if row["method"] != "importance"]
    axes.bar(np.arange(len(rows)) + shift, [row["sd_log_mu"] for row in rows], 0.4, label=name)
    axes.set_xticks(range(len(rows)), [row["method"] for row in rows])
axes.set(ylabel="standard deviation of log μ")
axes.legend()
plt.show()
