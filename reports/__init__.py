"""Figures, tables and pages of the studies in `validation`; `python -m reports` makes them."""
