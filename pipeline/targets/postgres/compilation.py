"""How Postgres is built from source code.

The server and initdb, without what a benchmark does not use: no documentation, no languages, no
contributed modules. Flags and compiler come by the environment, where configure looks for them.
"""

from __future__ import annotations

from pipeline.targets.base import Compilation, Recipe

CONFIGURE = ("--without-readline", "--without-icu", "--without-zlib")
"""What of the machine's libraries is left out, so that a build is the same on every machine. An
option that a release does not know is warned of and ignored."""


def recipe(work: Compilation) -> Recipe:
    """Return the commands: configure, compile, install server and client programs."""
    make = ("make", f"--jobs={work.jobs}", "--no-print-directory")
    return Recipe(
        commands=(
            ("./configure", f"--prefix={work.home}", *CONFIGURE, *work.options.configure),
            # Headers are generated once, by one process, before many include them.
            (*make, "-C", "src/backend", "generated-headers"),
            (*make, "-C", "src"),
            (*make, "-C", "src", "install"),
        ),
    )
