"""Migration 2: store the marks of a step, and the activity of the DBMS during it.

The new columns are empty for existing runs until `nightshift rebuild` fills them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns for marks and activity."""
    for name in ("marks", "activity"):
        op.add_column("step_run", sa.Column(name, sa.JSON(), nullable=True))
