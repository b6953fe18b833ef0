"""Tables of paper 2."""
