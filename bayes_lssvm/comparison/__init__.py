"""Kernels compared by their evidence, with their parameters integrated out."""
