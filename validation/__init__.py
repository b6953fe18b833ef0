"""Studies of what the library computes: pure functions that return frozen results with their provenance."""
