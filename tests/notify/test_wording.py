from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings

from pipeline.model import Culprit, Regression, RegressionState, Supply
from pipeline.notify.base.links import Pages, RevisionOrigin
from pipeline.notify.base.text import MOST, NAME, ROOM, ROWS, Facts, by_label, by_verbs, notice
from tests.notify.samples import OTHER, WORSE, confirmed, regression, stated
from tests.regressions.samples import shift
from tests.text.test_markdown import ACTS, HOSTILE, seen

FACTS = Facts(reproduce="nightshift nightly --config nightshift.toml")
NAMED = Culprit(
    revision="c0ffee",
    parent="b0ffee",
    probability=0.9999,
    confirmed=True,
    subject="Plan | more (A. Person)",
)
GIT = Supply(name="git", kind="git", coordinates="https://github.com/a/b.git#main", prebuilt=False)


def body(found: Regression, *beside: Regression, facts: Facts = FACTS) -> str:
    return notice(found, beside, facts).body


def table_of(text: str) -> list[list[str]]:
    """Return the cells of the markdown table, split as markdown does."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[c.strip() for c in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def test_a_regression_says_what_since_when_and_how_to_see_it_again() -> None:
    text = notice(confirmed(WORSE), (), FACTS._replace(decide="Do something."))
    assert text.title == "Confirmed regression in postgres 17.11: scan +30.0% cpu_us/o"
    assert text.summary == "postgres 17.11: scan +30.0% cpu_us/o, 2 series; confirmed"
    assert text.links == ()
    assert text.body == (
        "**Confirmed by a second measurement: CPU per operation (cpu_us/o) of scan +30.0% in "
        "`17.11`, and 1 more series changed.**\n"
        "\n"
        "**What to do:** look for the cause between the two revisions below and fix it, or decide "
        "as described at the end. This issue blocks no pull request. nightshift keeps measuring.\n"
        "\n"
        "- line: minors\n"
        "- last good: `17.10`\n"
        "- first bad: `17.11`\n"
        "- state: confirmed\n"
        f"- fingerprint: {WORSE.fingerprint}\n"
        "- series that changed: 2, in 2 steps\n"
        "\n"
        "| step | metric | before | after | change | 95 % interval | p |\n"
        "| :--- | :--- | ---: | ---: | ---: | :---: | ---: |\n"
        "| scan | CPU per operation (cpu_us/o) in us | 100 | 130 | +30.0% | +29.0% to +31.0% "
        "| 0.001 |\n"
        "| scan_range=100 | throughput (qps) in 1/s | 100 | 80 | -20.0% | -21.0% to -19.0% "
        "| 0.001 |\n"
        "\n"
        "Change is relative to the level before, or in the metric's unit if that level is zero. p "
        "is\n"
        "the p-value of the change point, corrected for the search over positions.\n"
        "\n"
        "## Reproduce\n"
        "\n"
        "```sh\n"
        "nightshift nightly --config nightshift.toml\n"
        "```\n"
        "\n"
        "## Decide\n"
        "\n"
        "Do something.\n"
    )


def test_the_verdict_is_the_first_sentence() -> None:
    first = {state: body(stated(WORSE, state)).splitlines()[0] for state in RegressionState}
    assert len(set(first.values())) == len(RegressionState)
    assert first[RegressionState.SUSPECTED].startswith("**Suspected: not confirmed by a second ")
    gone = body(stated(OTHER, RegressionState.RESOLVED), confirmed(WORSE)).splitlines()[0]
    assert gone.endswith("in `17.12`; other regressions with the same cause remain.**")


def test_the_culprit_stands_in_front() -> None:
    text = notice(WORSE.model_copy(update={"culprit": NAMED}), (), FACTS)
    assert text.title == "Suspected regression in postgres c0ffee: scan +30.0% cpu_us/o"
    assert text.summary.endswith("; suspected; Plan | more (A. Person)")
    assert (
        "- first bad: `17.11`\n"
        "- culprit: `c0ffee`: Plan \\| more (A. Person); its parent is `b0ffee`\n"
    ) in text.body
    skipped = NAMED.model_copy(update={"between": ("b1", "b2")})
    page = body(WORSE.model_copy(update={"culprit": skipped}))
    assert ", or `b1`, `b2` (not measured); its parent is `b0ffee`\n" in page
    many = NAMED.model_copy(update={"between": tuple(f"b{each}" for each in range(12))})
    assert "`b9` and 2 more (not" in body(WORSE.model_copy(update={"culprit": many}))


def test_the_body_reports_a_range_of_commits() -> None:
    named = Culprit(revision="c0ffee", parent="b0ffee", probability=0.967, confirmed=False)
    text = notice(WORSE.model_copy(update={"culprit": named}), (), FACTS)
    assert "- culprit: after `b0ffee` and up to `c0ffee` (96 % probability)\n" in text.body
    assert text.title.startswith("Suspected regression in postgres 17.11: ")


def test_commits_and_pages_are_linked() -> None:
    facts = FACTS._replace(
        find=lambda label: RevisionOrigin(GIT, label * 2),
        pages=Pages(report="https://x.example/r.html"),
    )
    text = notice(WORSE.model_copy(update={"culprit": NAMED}), (), facts)
    home = "https://github.com/a/b"
    assert f"- culprit: [`c0ffee`](<{home}/commit/c0ffeec0ffee>): Plan" in text.body
    compared = f"{home}/compare/b0ffeeb0ffee...c0ffeec0ffee"
    assert f"([what changed](<{compared}>))\n" in text.body
    assert "- pages: [report](<https://x.example/r.html#found>)\n" in text.body
    assert [(link.name, link.address) for link in text.links] == [
        ("commit", f"{home}/commit/c0ffeec0ffee"),
        ("what changed", compared),
        ("report", "https://x.example/r.html#found"),
    ]
    unnamed = notice(WORSE, (), facts)
    assert f"([what changed](<{home}/compare/17.1017.10...17.1117.11>))" in unnamed.body
    assert [link.name for link in unnamed.links] == ["what changed", "report"]


def test_rows_that_are_too_many_are_folded_and_none_is_lost() -> None:
    found = regression(
        *(shift(11, -0.1 - each / 1000, step=f"step{each:02d}") for each in range(ROWS + 5))
    )
    text = body(found)
    before, _, folded = text.partition("<details>\n<summary>5 more series</summary>\n\n")
    assert len(table_of(before)) == 2 + ROWS
    assert len(table_of(folded)) == 2 + 5
    assert table_of(before)[2][0] == f"step{ROWS + 4}", "the worst comes first"
    assert "\n\n</details>\n" in folded


def test_setups_are_named_where_there_are_several() -> None:
    one = shift(11, -0.2)
    key = one.series.model_copy(update={"clients": 4})
    other = one.model_copy(update={"series": key})
    found = regression(one).model_copy(update={"shifts": (one, other)})
    rows = table_of(body(found))
    assert [row[-1] for row in rows[2:]] == [
        "cached, x10a, 1 client, official, tested",
        "cached, x10a, 4 clients, official, tested",
    ]


def test_an_issue_has_room_for_it_whatever_it_is() -> None:
    long = "`|<@x" * 100
    found = regression(*(shift(11, -0.2, step=f"{each}{long}") for each in range(500)))
    others = [found.model_copy(update={"fingerprint": str(each)}) for each in range(100)]
    text = body(found, *others, facts=FACTS._replace(why="x" * MOST))
    assert len(text) < 65_536
    assert f"`nightshift explain {found.fingerprint}` prints it" in text
    assert " more are in the report.\n" in text
    assert "And 70 more.\n" in text
    assert sum(len(line) for line in text.splitlines() if line.startswith("|")) < ROOM + 1000
    assert len(notice(found, (), FACTS).title) < 4 * NAME


def test_the_explanation_stands_in_the_middle() -> None:
    text = body(WORSE, facts=FACTS._replace(why="## Why: more work\n\nIt is.\n"))
    assert "search over positions.\n\n## Why: more work\n\nIt is.\n\n## Reproduce\n" in text


def test_others_of_the_same_cause_are_listed() -> None:
    text = body(confirmed(OTHER), confirmed(WORSE))
    assert (
        "## Other regressions with the same culprit\n\n"
        "- minors, `17.10` to `17.11`: scan +30.0% cpu_us/o and 1 more series "
        f"(confirmed, {WORSE.fingerprint})\n\n## Reproduce\n"
    ) in text


@given(HOSTILE, HOSTILE, HOSTILE)
@settings(max_examples=50)
def test_nothing_that_comes_from_elsewhere_does_anything(
    step: str, subject: str, label: str
) -> None:
    found = regression(shift(11, step=step, metric=subject, line=label))
    culprit = NAMED.model_copy(update={"subject": subject, "parent": label, "between": (step,)})
    found = found.model_copy(update={"culprit": culprit, "last_good": label, "first_bad": step})
    text = notice(found, (found,), FACTS._replace(reproduce=f"nightshift compare {step}"))
    assert not ACTS.search(text.title)
    assert not ACTS.search(text.summary)
    page = seen(text.body)
    known = {"p", "strong", "code", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
    assert set(page.elements) <= known | {"h2", "pre"}
    assert page.comments == 0
    assert "<!" not in text.body
    assert page.elements.count("h2") == 2, "no part swallows another"


@pytest.mark.parametrize("step", ["a|b", "a\nb", "a\\|b", "|", "a\r\n| b |"])
def test_strange_names_stay_in_their_cells(step: str) -> None:
    rows = table_of(body(regression(shift(11, step=step))))
    assert [len(row) for row in rows] == [7, 7, 7]
    assert rows[2][2:5] == ["100", "80", "-20.0%"]


def test_a_metric_without_a_known_unit_has_none() -> None:
    assert table_of(body(regression(shift(11, metric="theirs"))))[2][1] == "theirs"


def test_a_change_from_zero_is_shown_in_its_own_unit() -> None:
    stall = shift(11, math.inf, metric="stall_s").model_copy(update={"before": 0.0, "after": 5.0})
    text = notice(regression(stall), (), FACTS)
    assert text.title == "Suspected regression in postgres 17.11: scan +5 s stall_s"
    assert "(stall_s) in s | 0 | 5 | +5 s | – | 0.001 |" in text.body


def test_what_people_can_do_is_one_line() -> None:
    for line in (
        by_verbs("f00d", RegressionState.CONFIRMED),
        by_label("known `x`", RegressionState.CONFIRMED),
    ):
        assert "\n" not in line
    assert "`nightshift ack f00d`" in by_verbs("f00d", RegressionState.CONFIRMED)
    assert seen(by_label("known `x`", RegressionState.CONFIRMED)).elements == ["p", "code"]
