"""How the engines of the field compare: the same series, the same questions, one table."""
