"""The documentation's table of contents is complete, and every page named in another file exists.

Links between pages are checked by the build of the documentation in ``make check``.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

WITH_PAGES = ("*.toml", "*.py", "*.yml", "*.yaml", "*.service", "*.timer", "*.tf", "*.md", "*.json")
"""Files that may name a page of the documentation."""

FOLDERS = ("", "changepoint", "dashboards", "infra", "pipeline", "results/published", "tools")
"""Folders of such files; of the first, the top one, only the files in it."""


def files_with_pages() -> list[Path]:
    found = [*ROOT.glob(".github/**/*.yml")]
    for folder in FOLDERS:
        for pattern in WITH_PAGES:
            found += (ROOT / folder).glob(pattern if not folder else f"**/{pattern}")
    return [path for path in found if path.name != "CHANGELOG.md"]


def nav_pages(entry: object) -> set[str]:
    """Collect the pages of a part of the table of contents."""
    if isinstance(entry, str):
        return {entry}
    if isinstance(entry, dict):
        entry = [*entry.values()]
    assert isinstance(entry, list)
    return {page for each in entry for page in nav_pages(each)}


def test_the_start_page_links_every_page_of_the_table_of_contents() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    nav = yaml.safe_load(text[text.index("\nnav:") :])["nav"]
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "index.md").read_text()))
    assert linked | {"index.md"} == nav_pages(nav)


def test_pages_named_outside_the_documentation_exist() -> None:
    named = {
        (path, page)
        for path in files_with_pages()
        for page in re.findall(r"\bdocs/([\w/-]+\.md)", path.read_text())
    }
    assert len(named) > 30
    assert [str(each) for each in named if not (DOCS / each[1]).is_file()] == []


@pytest.mark.parametrize("name", ["README.md", "infra/README.md", "results/published/README.md"])
def test_links_of_a_readme_lead_to_files(name: str) -> None:
    path = ROOT / name
    for link in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
        if "://" not in link:
            assert (path.parent / link).exists(), link


def test_the_architecture_names_files_that_exist() -> None:
    text = (DOCS / "internals/architecture.md").read_text()
    named = set(re.findall(r"`((?:pipeline|changepoint|dashboards)/[\w/]+\.\w+)`", text))
    assert len(named) > 40
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_architecture_has_the_rooms_in_the_order_of_the_import_contract() -> None:
    text = (DOCS / "internals/architecture.md").read_text()
    documented: dict[int, set[str]] = {}
    for level, room in re.findall(r"(?m)^\| (\d+) \| `(\w+)` \|", text):
        documented.setdefault(int(level), set()).add(room)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (each["layers"] for each in contracts["contracts"] if each["id"] == "layers")
    rooms = [set(re.findall(r"pipeline\.(\w+)", layer)) for layer in reversed(layers)]
    assert [documented[level] for level in sorted(documented)] == rooms
