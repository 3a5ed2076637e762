"""Checks what is said to GitHub by the description that GitHub publishes of its API."""
