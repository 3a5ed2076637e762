"""Compare this detection with other programs on the same series."""
