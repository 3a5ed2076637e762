"""Migration 3: store the response times of a step.

The new column is empty for existing runs until `nightshift rebuild` fills it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column for response times."""
    op.add_column("step_run", sa.Column("histogram", sa.JSON(), nullable=True))
