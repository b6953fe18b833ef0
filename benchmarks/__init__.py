"""Benchmarks: ratios against a peer or a known limit, measured side by side in one run."""
