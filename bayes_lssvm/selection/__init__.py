"""Inputs and points that matter: relevance, stepwise selection, sparse models."""
