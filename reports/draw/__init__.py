"""Figures that several pages share."""
