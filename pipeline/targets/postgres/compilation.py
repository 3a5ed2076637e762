"""Build Postgres from source code: the server, initdb and the client programs.

Documentation, languages and contributed modules are left out, because a benchmark does not use
them. configure reads the compiler and its flags from the environment.
"""

from __future__ import annotations

from pipeline.targets.base import Compilation, Recipe

CONFIGURE = ("--without-readline", "--without-icu", "--without-zlib")
"""Options of configure that leave out optional libraries, so that a build is the same on every
machine. A release warns about unknown options and ignores them."""


def recipe(work: Compilation) -> Recipe:
    """Return the recipe for Postgres: configure, compile, install server and clients."""
    make = ("make", f"--jobs={work.jobs}", "--no-print-directory")
    return Recipe(
        commands=(
            ("./configure", f"--prefix={work.home}", *CONFIGURE, *work.options.configure),
            # One process generates the headers, before parallel ones include them.
            (*make, "-C", "src/backend", "generated-headers"),
            (*make, "-C", "src"),
            (*make, "-C", "src", "install"),
        ),
    )
