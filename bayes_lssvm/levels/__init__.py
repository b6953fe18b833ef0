"""The three levels of inference for one kernel, the moderated output, and kin: Gaussian processes, kernel Fisher."""
