"""The control and the night of a run. Older runs are no controls."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("run", sa.Column("control", sa.String(), nullable=True))
    op.add_column("run", sa.Column("control_night", sa.Date(), nullable=True))
