"""Tables of paper 1."""
