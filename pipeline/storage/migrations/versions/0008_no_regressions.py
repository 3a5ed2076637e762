"""Migration 8: drop the tables of regressions, which are now derived from the journal."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Drop the tables for regressions and events."""
    op.drop_table("regression_event")
    op.drop_table("regression")
