"""Linear algebra of the centred kernel matrix: products, the Cholesky factor, the spectrum and its tridiagonal form."""
