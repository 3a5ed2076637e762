"""A folder that can be none of a hub, and a port that is none of a Prometheus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from pipeline.config import load_config
from pipeline.hub.dashboards import write_addresses
from pipeline.hub.layout import DASHBOARDS, HubLayout, held, prepare
from pipeline.hub.status import status
from pipeline.machine.account import Account
from pipeline.text.errors import UserError


class _Page(BaseHTTPRequestHandler):
    """Answers everything with a page."""

    answer = b"<html>"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """A port at which somebody else answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        work = Thread(target=server.serve_forever)
        work.start()
        yield server.server_port
        server.shutdown()
        work.join()


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}", b'{"data": 1}'])
def test_who_else_answers_at_the_port_is_of_an_unknown_version(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setattr(_Page, "answer", answer)
    file = tmp_path / "nightshift.toml"
    file.write_text(f"[hub]\nprometheus_port = {port}\n")
    found = status(load_config(file).config)
    assert (found.version, found.newest) == ("of an unknown version", None)


def test_a_folder_that_cannot_be_is_one_line(tmp_path: Path, account: Account) -> None:
    (tmp_path / "file").write_text("")
    layout = HubLayout(tmp_path / "file" / "hub")
    with pytest.raises(UserError, match=r"hub cannot be written \(Not a directory\); run"):
        prepare(layout, account)
    with pytest.raises(UserError, match=r"hub cannot be written \(Not a directory\)"), held(layout):
        pass


def test_links_lead_where_the_configuration_says(server_folder: Path, account: Account) -> None:
    file = server_folder / "nightshift.toml"
    file.write_text('[hub]\nsite_url = "https://bench.example/site/"\n')
    layout = HubLayout(server_folder / "hub")
    prepare(layout, account)
    write_addresses(layout.boards, load_config(file).config.hub.links)
    boards = sorted(layout.boards.glob("*.json"))
    for path in boards:
        expected = json.loads((DASHBOARDS / "json" / path.name).read_text())
        (constant,) = (
            each for each in expected["templating"]["list"] if each["name"] == "site_url"
        )
        constant["query"] = "https://bench.example/site/"
        assert json.loads(path.read_text()) == expected
    assert [path.name for path in boards] == sorted(
        path.name for path in (DASHBOARDS / "json").glob("*.json")
    )
    assert boards
