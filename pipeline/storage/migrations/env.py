"""Alembic's entry point: run the migrations on the store's connection."""

from alembic import context

from pipeline.storage.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
