"""LS-SVMs of fixed size: a kernel matrix of low rank, from one pass over any number of rows.

landmarks     m points that stand for all
features      φ(x) = L⁻¹k(Z, x), with which ΦΦᵀ is Nyström's approximation of the kernel matrix
statistics    sums over rows, which can be added, merged and kept
sample        rows that stand for all, the same however the data are divided
blocks        where rows come from: arrays, files, folders
objective     the evidence as a function of the kernel, with its gradient
evidence      the same of rows that are passed over
scales        a scale for each input in the place of one width
posterior     level 1: outputs, variances, left-out outputs
complete      the same where every row is a landmark, by the kernel matrix itself
"""
