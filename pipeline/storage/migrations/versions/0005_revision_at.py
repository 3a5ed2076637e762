"""Migration 5: store the time of a run's revision, a digest of its results, and mean activity.

The new columns are empty for existing runs until `nightshift rebuild` fills them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns for revision time, digest and mean activity."""
    op.add_column("run", sa.Column("revision_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("run", sa.Column("digest", sa.String(64), nullable=True))
    op.add_column("step_run", sa.Column("activity_mean", sa.JSON(), nullable=True))
