"""`python -m bayes_lssvm.cli`: the command line where its script is not on the path."""

from __future__ import annotations

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
