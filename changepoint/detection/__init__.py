"""Change point detection: the methods, their kernels, calibration and effect sizes."""
