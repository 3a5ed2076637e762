"""``python -m pipeline`` is ``nightshift``."""

from pipeline.cli import main

main()
