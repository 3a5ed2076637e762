from __future__ import annotations

import pytest

from pipeline.model import Supply
from pipeline.notify.base.links import (
    Pages,
    RevisionOrigin,
    between,
    commit_address,
    compare_address,
)
from tests.regressions.samples import key


def git(address: str, kind: str = "git") -> Supply:
    return Supply(name="git", kind=kind, coordinates=address, prebuilt=False, commits=True)


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("https://github.com/facebook/rocksdb.git", "https://github.com/facebook/rocksdb"),
        ("https://github.com/sqlite/sqlite.git#master", "https://github.com/sqlite/sqlite"),
        ("https://github.com/a/b/", "https://github.com/a/b"),
        ("git@github.com:me/my.db.git", "https://github.com/me/my.db"),
        ("ssh://git@github.example:2222/me/db.git", "https://github.example/me/db"),
        ("git://github.com/a/b", "https://github.com/a/b"),
    ],
)
def test_commits_of_github(address: str, page: str) -> None:
    assert commit_address(git(address), "c0ffee") == f"{page}/commit/c0ffee"
    assert compare_address(git(address), "b0", "c0") == f"{page}/compare/b0...c0"


def test_commits_of_gitlab_are_in_groups_of_groups() -> None:
    supply = git("https://gitlab.com/group/of/groups/db.git#main")
    page = "https://gitlab.com/group/of/groups/db/-"
    assert commit_address(supply, "c0ffee") == f"{page}/commit/c0ffee"
    assert compare_address(supply, "b0", "c0") == f"{page}/compare/b0...c0"
    assert commit_address(git("https://gitlab.example/a/b"), "c0").startswith("https://gitlab.exa")


def test_tags_are_linked_too_and_nothing_in_them_leaves_its_place() -> None:
    tags = git("https://github.com/a/b", kind="tags")
    assert commit_address(tags, "v1.0") == "https://github.com/a/b/commit/v1.0"
    assert commit_address(tags, "a/../x>?#") == "https://github.com/a/b/commit/a%2F..%2Fx%3E%3F%23"


@pytest.mark.parametrize(
    "supply",
    [
        None,
        git("/srv/db.git"),
        git("https://git.example/a/b"),
        git("https://notgithub.com/a/b"),
        git("https://github.com/"),
        git("https://github.com/a"),
        git("https://github.com/a/b>(x"),
        Supply(name="npm", kind="npm", coordinates="https://github.com/a/b"),
    ],
)
def test_no_link_where_nobody_knows_where(supply: Supply | None) -> None:
    assert commit_address(supply, "c0ffee") == ""
    assert compare_address(supply, "b0ffee", "c0ffee") == ""


def test_what_lies_between_two_revisions_is_seen_where_both_are_of_one_repository() -> None:
    one, other = git("https://github.com/a/b#main"), git("https://github.com/x/y#main")
    origins = {
        "b0": RevisionOrigin(one, "b0ff"),
        "c0": RevisionOrigin(one, "c0ff"),
        "d0": RevisionOrigin(other, "d0ff"),
    }

    def find(label: str) -> RevisionOrigin:
        return origins.get(label, RevisionOrigin())

    found = between("b0", "c0", find)
    assert found.good == "https://github.com/a/b/commit/b0ff"
    assert found.bad == "https://github.com/a/b/commit/c0ff"
    assert found.compare == "https://github.com/a/b/compare/b0ff...c0ff"
    assert between("b0", "d0", find).compare == ""
    assert between("17.1", "17.2", find) == ("", "", "")


def test_pages_are_linked_where_they_are_served() -> None:
    assert Pages().links(key()) == []
    pages = Pages("https://x.example/report.html", "https://x.example/", "https://g.example/")
    report, trends, grafana = pages.links(key("scan & more"))
    assert (report.name, report.address) == ("report", "https://x.example/report.html#found")
    assert (trends.name, trends.address) == ("trends", "https://x.example/")
    assert grafana.name == "Grafana"
    assert grafana.address == (
        "https://g.example/d/nightshift-step?var-target=postgres&var-line=minors"
        "&var-machine_class=tested&var-workload=cached&var-config=x10a&var-clients=1"
        "&var-step=scan+%26+more"
    )
