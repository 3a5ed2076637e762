"""Migration 6: store the control and the night of a run. Older runs are not controls."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns for control and night."""
    op.add_column("run", sa.Column("control", sa.String(), nullable=True))
    op.add_column("run", sa.Column("control_night", sa.Date(), nullable=True))
