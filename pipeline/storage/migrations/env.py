"""The entry point that Alembic calls to migrate the store."""

from alembic import context

from pipeline.storage.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
