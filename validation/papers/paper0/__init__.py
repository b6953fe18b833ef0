"""Tables of paper 0."""
