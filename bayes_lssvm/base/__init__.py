"""What every room uses: types, errors and warnings, files, memory, provenance, ArviZ, columns, standardisation."""
