"""Comparison of the field's engines: the same series and questions in one table."""
