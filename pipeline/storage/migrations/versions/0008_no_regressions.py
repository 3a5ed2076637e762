"""No tables of regressions: their states are derived from the journal on each read."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Drop the tables."""
    op.drop_table("regression_event")
    op.drop_table("regression")
