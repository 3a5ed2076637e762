"""What is derived from a run: pure functions, from its output and samples to its figures."""
