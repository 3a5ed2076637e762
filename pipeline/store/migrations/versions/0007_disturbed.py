"""What disturbed a step, which was so every time that it was repeated.

Empty for the runs that are there, of which nobody watched that.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column."""
    op.add_column("step_run", sa.Column("disturbed", sa.JSON(), nullable=True))
