"""Migration 4: store regressions and their events.

The new tables are empty until `nightshift detect` or `nightshift rebuild` fills them from the
journal.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the tables for regressions and events."""
    op.create_table(
        "regression",
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("line", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("worse", sa.Boolean(), nullable=False),
        sa.Column("last_good", sa.String(), nullable=False),
        sa.Column("first_bad", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("expires", sa.Date(), nullable=True),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_regression")),
    )
    op.create_table(
        "regression_event",
        sa.Column("regression", sa.String(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("expires", sa.Date(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("experiment", sa.String(), nullable=False),
        sa.Column("blocks", sa.Integer(), nullable=False),
        sa.Column("minutes", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["regression"],
            ["regression.fingerprint"],
            name=op.f("fk_regression_event_regression"),
        ),
        sa.PrimaryKeyConstraint("regression", "place", name=op.f("pk_regression_event")),
    )
