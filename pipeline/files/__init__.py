"""Files that survive crashes and concurrent writers: atomic writes, JSON-lines logs, locks."""
