"""Compare two samples of runs, at once or in blocks until the answer is clear."""
