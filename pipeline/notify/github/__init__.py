"""GitHub: issues of a repository."""
