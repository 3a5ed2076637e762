"""The table of all verbs: name, group, one line of help, and module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Verb(NamedTuple):
    """One verb of the command line: its name and its line of help.

    ``help`` is its line in `nightshift --help`, and the first line of the verb's docstring.
    """

    name: str
    help: str

    @property
    def module(self) -> str:
        """The name of the Python module that implements the verb."""
        name = "import_" if self.name == "import" else self.name.replace("-", "_")
        return f"pipeline.cli.{name}"


GROUPS: Mapping[str, tuple[Verb, ...]] = {
    "Measure": (
        Verb("nightly", "Run a whole night: every stage from discover to notify."),
        Verb("discover", "List the revisions that the sources of the targets offer."),
        Verb("plan", "Show the plan: what is measured, and the runs that are left."),
        Verb("build", "Make one build, or every build of the plan."),
        Verb("run", "Measure the runs left in the plan; each becomes a bundle."),
        Verb("ingest", "Add new bundles (run archives) to the store (the database)."),
        Verb("detect", "Search the series for changes and group them by cause."),
        Verb("confirm", "Measure suspected regressions again, worst first."),
        Verb("bisect", "Search for the revision that caused a regression."),
        Verb("pursue", "Confirm suspected regressions and bisect to their culprits."),
        Verb("explain", "Explain why regressions are slower, with the evidence."),
        Verb("reproduce", "Write a script that shows a regression without nightshift."),
        Verb("remeasure", "Measure failed, disturbed or chosen cells again."),
        Verb("backfill", "Measure skipped revisions, the most informative first."),
    ),
    "Look": (
        Verb("status", "Compare every series with its last accepted level, day by day."),
        Verb("nights", "List the last nights and their results."),
        Verb("regressions", "List regressions and improvements with their states."),
        Verb("table", "Print tables of lines, or of any chosen columns."),
        Verb("article", "Write an article about a table, as markdown to edit."),
        Verb("report", "Write the tables and the report page."),
        Verb("site", "Write the trends of all results as static web pages."),
        Verb("sql", "Run a read-only query on the views of the store."),
        Verb("environment", "List changes of machines, and how machines differ."),
        Verb("ledger", "Show the cost of alarms and the smallest detectable changes."),
        Verb("replay", "Replay past nights and list what they would have filed."),
    ),
    "Decide": (
        Verb("ack", "Acknowledge a regression until a given day."),
        Verb("wontfix", "Mark a regression as won't fix."),
        Verb("reopen", "Undo the decision about a regression."),
        Verb("mute", "Exclude series from detection, or list the mutes."),
        Verb("unmute", "End a mute."),
    ),
    "Compare": (
        Verb("compare", "Measure two builds in turn until their difference is clear."),
        Verb("verify-fix", "Measure how much of a loss a fix brings back."),
        Verb("pull-request", "Measure a pull request and report the result to it."),
    ),
    "Publish": (
        Verb("notify", "Report regressions: files, GitHub issues, webhooks."),
        Verb("publish", "Send new measurements to Prometheus."),
        Verb("hub", "Run Prometheus and Grafana, or show their state."),
    ),
    "Machines": (
        Verb("doctor", "Report what disturbs measurements on this machine."),
        Verb("tune", "Tune this machine for steady measurements, or restore it."),
        Verb("lease", "Show who measures on this machine, or reserve it."),
        Verb("github", "Report which settings of a GitHub repository are missing."),
        Verb("fleet", "Create bench servers for a night, and delete them."),
    ),
    "Maintain": (
        Verb("pack", "Pack the results of this machine into a folder for transfer."),
        Verb("collect", "Collect results from other machines, each run once."),
        Verb("import", "Import results that were measured elsewhere."),
        Verb("backup", "Back up everything that cannot be derived again."),
        Verb("restore", "Restore a backup into empty folders."),
        Verb("prune", "Remove old samples and bundles that no result depends on."),
        Verb("rebuild", "Empty the store (the database) and fill it from the bundles."),
        Verb("targets", "List the targets, their sources and the missing tools."),
        Verb("schema", "Print the JSON schema of nightshift.toml, for editors."),
    ),
}
"""The verbs in the order of the help, grouped by its headings; add new verbs here."""

VERBS: Mapping[str, Verb] = {verb.name: verb for verbs in GROUPS.values() for verb in verbs}
"""Every verb by its name."""
