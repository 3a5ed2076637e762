"""Migration 3: store the response times of a step.

Empty for existing runs: the store is derived, `nightshift rebuild` fills them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column for response times."""
    op.add_column("step_run", sa.Column("histogram", sa.JSON(), nullable=True))
