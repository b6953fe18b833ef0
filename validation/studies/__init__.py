"""The studies: each holds closed forms against exact quadrature or sampling. `validation.registry` names them."""
