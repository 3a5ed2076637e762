"""nightshift: a continuous performance-regression pipeline for database systems."""

__version__ = "0.1.0"
