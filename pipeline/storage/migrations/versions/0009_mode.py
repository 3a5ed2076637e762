"""Migration 9: store whether a workload is timed or counted. Older workloads are timed."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column for the mode of a workload."""
    op.add_column("workload", sa.Column("mode", sa.String(), nullable=True))
