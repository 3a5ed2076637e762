"""The migrations of the store, one file for each version of its schema."""
