"""Leave-one-out in closed form and Allen's PRESS with Bayesian regularisation (paper 1)."""
