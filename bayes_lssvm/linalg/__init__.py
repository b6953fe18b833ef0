"""Linear algebra of the centred kernel matrix: products, triangles, the spectrum and its tridiagonal form."""
