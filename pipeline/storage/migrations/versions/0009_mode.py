"""The mode of a workload. Older workloads are timed."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column."""
    op.add_column("workload", sa.Column("mode", sa.String(), nullable=True))
