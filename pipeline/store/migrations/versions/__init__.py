"""One file for each version of the store's schema."""
