"""Migration 1: the first tables, with runs, their steps and their measurements."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the first tables of the store."""
    op.create_table(
        "build",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("options", sa.String(), nullable=False),
        sa.Column("program_hash", sa.String(length=64), nullable=False),
        sa.Column("provenance", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_build")),
        sa.UniqueConstraint("hash", name=op.f("uq_build_hash")),
    )
    op.create_table(
        "config",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("family", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_config")),
        sa.UniqueConstraint("hash", name=op.f("uq_config_hash")),
    )
    op.create_table(
        "machine",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("machine_class", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_machine")),
        sa.UniqueConstraint("hash", name=op.f("uq_machine_hash")),
    )
    op.create_table(
        "metric",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric")),
        sa.UniqueConstraint("name", name=op.f("uq_metric_name")),
    )
    op.create_table(
        "settings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("variables", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_settings")),
        sa.UniqueConstraint("hash", name=op.f("uq_settings_hash")),
    )
    op.create_table(
        "step",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("group", sa.String(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_step")),
        sa.UniqueConstraint("name", "group", "unit", name=op.f("uq_step_name_group_unit")),
    )
    op.create_table(
        "workload",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("family", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("clients", sa.Integer(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workload")),
        sa.UniqueConstraint("hash", name=op.f("uq_workload_hash")),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("bundle_sha256", sa.String(length=64), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("cell_key", sa.String(length=64), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("revision", sa.String(), nullable=False),
        sa.Column("revision_order", sa.JSON(), nullable=False),
        sa.Column("line", sa.String(), nullable=True),
        sa.Column("pinning", sa.JSON(), nullable=False),
        sa.Column("tools", sa.JSON(), nullable=False),
        sa.Column("build_id", sa.Integer(), nullable=False),
        sa.Column("config_id", sa.Integer(), nullable=False),
        sa.Column("machine_id", sa.Integer(), nullable=False),
        sa.Column("workload_id", sa.Integer(), nullable=False),
        sa.Column("settings_id", sa.Integer(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["build_id"], ["build.id"], name=op.f("fk_run_build_id")),
        sa.ForeignKeyConstraint(["config_id"], ["config.id"], name=op.f("fk_run_config_id")),
        sa.ForeignKeyConstraint(["machine_id"], ["machine.id"], name=op.f("fk_run_machine_id")),
        sa.ForeignKeyConstraint(["settings_id"], ["settings.id"], name=op.f("fk_run_settings_id")),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_run_workload_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("run_id", name=op.f("uq_run_run_id")),
    )
    op.create_index("ix_run_cell_key_repetition", "run", ["cell_key", "repetition"], unique=False)
    op.create_table(
        "step_run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("timeline", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run"], ["run.id"], name=op.f("fk_step_run_run"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["step"], ["step.id"], name=op.f("fk_step_run_step")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_step_run")),
        sa.UniqueConstraint("run", "step", "place", name=op.f("uq_step_run_run_step_place")),
    )
    op.create_table(
        "measurement",
        sa.Column("step_run", sa.Integer(), nullable=False),
        sa.Column("metric", sa.Integer(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["metric"], ["metric.id"], name=op.f("fk_measurement_metric")),
        sa.ForeignKeyConstraint(
            ["step_run"], ["step_run.id"], name=op.f("fk_measurement_step_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("step_run", "metric", name=op.f("pk_measurement")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Drop all tables of the store."""
    op.drop_table("measurement")
    op.drop_table("step_run")
    op.drop_index("ix_run_cell_key_repetition", table_name="run")
    op.drop_table("run")
    op.drop_table("workload")
    op.drop_table("step")
    op.drop_table("settings")
    op.drop_table("metric")
    op.drop_table("machine")
    op.drop_table("config")
    op.drop_table("build")
