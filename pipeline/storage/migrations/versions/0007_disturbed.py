"""Migration 7: store what disturbed each step.

The new column is empty for existing runs, which were not checked for disturbances.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column for disturbances."""
    op.add_column("step_run", sa.Column("disturbed", sa.JSON(), nullable=True))
