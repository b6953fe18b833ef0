"""Independent NumPyro programs of the model that `bayes_lssvm` solves in closed form."""
