"""Deterministic integration over the hyperparameters: quadrature and designs."""
