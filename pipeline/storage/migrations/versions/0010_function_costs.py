"""Migration 10: store the instructions of functions in counted steps.

The new tables have no rows for existing runs until `nightshift rebuild` fills them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Create the tables for functions and their instructions."""
    op.create_table(
        "function",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("binary", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_function"),
        sa.UniqueConstraint("name", "binary", name="uq_function_name_binary"),
    )
    op.create_table(
        "function_cost",
        sa.Column("step_run", sa.Integer(), nullable=False),
        sa.Column("function", sa.Integer(), nullable=False),
        sa.Column("self_cost", sa.Float(), nullable=False),
        sa.Column("inclusive_cost", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["step_run"],
            ["step_run.id"],
            name="fk_function_cost_step_run_step_run",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["function"], ["function.id"], name="fk_function_cost_function_function"
        ),
        sa.PrimaryKeyConstraint("step_run", "function", name="pk_function_cost"),
        sqlite_with_rowid=False,
    )
