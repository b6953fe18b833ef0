"""The search for kernel parameters by the evidence."""
