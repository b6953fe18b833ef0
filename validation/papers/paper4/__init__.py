"""Tables of paper 4."""
