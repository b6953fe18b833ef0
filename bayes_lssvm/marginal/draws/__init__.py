"""Integration over the hyperparameters by draws: collapsed NUTS and importance sampling."""
