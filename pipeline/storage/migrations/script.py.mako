"""${message}"""

from alembic import op
import sqlalchemy as sa
${imports if imports else ""}

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Bring the store to this version."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Take the store back to the version before."""
    ${downgrades if downgrades else "pass"}
