"""Build Postgres from source code: the server, initdb and the client programs.

What a benchmark does not use is left out: documentation, languages, contributed modules. The
environment has flags and compiler, where configure reads them.
"""

from __future__ import annotations

from pipeline.targets.base import Compilation, Recipe

CONFIGURE = ("--without-readline", "--without-icu", "--without-zlib")
"""Optional libraries are left out, so that a build is the same on every machine. A release warns
about unknown options and ignores them."""


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
