"""The command line `bayes-lssvm`: fit, predict, compare, marginalise, trust, datasets.

Tables are read with the standard library, models with `bayes_lssvm.load`; nothing is ever evaluated or unpickled.
Results go to standard output, as text for people or as one JSON object for programs; notes, warnings and errors are
sentences on standard error.
"""

from .main import main

__all__ = ["main"]
