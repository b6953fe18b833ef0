"""The search for kernel parameters by the evidence, and the comparison of kernels."""
