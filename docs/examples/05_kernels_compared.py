"""
Which kernel do the data prefer?
================================

Bayes factors between four kernels on a short periodic series. Each log evidence has the kernel's parameters integrated
out, so that a kernel pays for every one of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_lssvm import compare

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 12, 50))
y = np.sin(1.7 * x) + 0.2 * x + 0.3 * rng.normal(size=x.size)
X = ((x - x.mean()) / x.std())[:, None]
table = compare(X, y, ["linear", "poly3", "rbf", "matern32"], progress=False)
print(table)

# %%
# A difference of 5 in log evidence is called very strong.

rows = sorted(table.rows(), key=lambda row: row["log_evidence"])
best = rows[-1]["log_evidence"]
figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
axes.barh([row["kernel"].partition("(")[0] for row in rows], [best - row["log_evidence"] for row in rows])
axes.axvline(5, color="black", linestyle="--", linewidth=1)
axes.annotate("very strong", (5, -0.4), (4, 0), textcoords="offset points")
axes.set(xlabel="log evidence below that of the best kernel (nats)")
plt.show()
