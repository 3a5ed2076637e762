"""How GitHub is asked: what is repeated, what is not, and for how long."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pipeline.config import GithubSection
from pipeline.notify.base.preview import Preview
from pipeline.notify.github.client import Client
from pipeline.notify.github.failures import (
    CutError,
    ForbiddenError,
    GithubRefusedError,
    NotSentError,
    UnavailableError,
    UnknownError,
)
from pipeline.notify.github.transport import GithubResponse, pygithub
from pipeline.text.errors import UserError
from tests.fakes.github import FakeGithub, cut, failing, primary_limit, secondary_limit
from tests.notify.github.world import NAME, TOKEN, Times

GOOD = GithubResponse(200, {}, {"ok": True})
SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait."}


class Scripted:
    """Answers and failures, one for each request."""

    def __init__(self, *turns: GithubResponse | Exception) -> None:
        self.turns = list(turns)
        self.times = Times()
        self.takes = 0.0
        self.sent = 0

    def __call__(
        self, method: str, path: str, query: Mapping[str, Any], payload: Any
    ) -> GithubResponse:
        self.sent += 1
        self.times.pass_by(seconds=self.takes)
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if isinstance(turn, Exception):
            raise turn
        return turn

    def client(self, **settings: Any) -> Client:
        section = GithubSection(repository=NAME, **settings)
        return Client(section, TOKEN, clock=self.times.clock(), transport=self)


@pytest.mark.parametrize(
    "turn",
    [
        GithubResponse(500, {}, None),
        GithubResponse(502, {}, None),
        CutError("cut"),
        NotSentError("no connection"),
    ],
)
def test_reads_are_repeated_with_longer_and_longer_pauses(turn: GithubResponse | Exception) -> None:
    scripted = Scripted(turn, turn, turn, GOOD)
    assert scripted.client().read("/x") == {"ok": True}
    assert scripted.times.slept == [1.5, 3.0, 6.0]


def test_reads_that_are_never_answered_end_and_github_is_asked_no_more() -> None:
    scripted = Scripted(GithubResponse(503, {}, None))
    client = scripted.client()
    with pytest.raises(UnavailableError, match="GitHub returned 503"):
        client.read("/x")
    assert client.down and scripted.sent == 5
    with pytest.raises(UnavailableError):
        client.read("/y")
    assert scripted.sent == 5


@pytest.mark.parametrize(
    "turn", [GithubResponse(500, {}, None), GithubResponse(504, {}, None), CutError("cut")]
)
def test_a_write_that_may_have_been_done_is_not_repeated(turn: GithubResponse | Exception) -> None:
    scripted = Scripted(turn, GOOD)
    client = scripted.client()
    with pytest.raises(UnknownError):
        client.write("POST", "/x", {})
    assert scripted.sent == 1 and not client.down


@pytest.mark.parametrize(
    "turn",
    [
        NotSentError("no connection"),
        GithubResponse(403, {"retry-after": "7"}, SECONDARY),
        GithubResponse(403, {}, SECONDARY),
        GithubResponse(429, {}, {"message": "slow down"}),
        GithubResponse(403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772330407"}, {}),
    ],
)
def test_a_write_that_was_not_done_is_repeated(turn: GithubResponse | Exception) -> None:
    scripted = Scripted(turn, GOOD)
    assert scripted.client().write("POST", "/x", {}) == {"ok": True}
    assert scripted.sent == 2


def test_limits_say_how_long_to_wait() -> None:
    # 2026-03-01T02:00:07Z, seven seconds behind the clock.
    reset = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772330407"}
    scripted = Scripted(
        GithubResponse(403, {"retry-after": "20"}, SECONDARY),
        GithubResponse(403, {}, SECONDARY),
        GOOD,
    )
    scripted.client().read("/x")
    assert scripted.times.slept == [20.5, 120.5]
    scripted = Scripted(GithubResponse(429, reset, {}), GOOD)
    scripted.client().read("/x")
    assert scripted.times.slept == [8.5]


def test_the_clock_of_github_counts_for_its_resets() -> None:
    ahead = {
        "date": "Sun, 01 Mar 2026 03:00:00 GMT",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": "1772334005",  # 03:00:05
    }
    scripted = Scripted(GithubResponse(403, ahead, {}), GOOD)
    scripted.client().read("/x")
    assert scripted.times.slept == [6.5]


def test_a_limit_that_outlasts_our_patience_is_not_waited_for() -> None:
    scripted = Scripted(GithubResponse(403, {"retry-after": "601"}, SECONDARY), GOOD)
    with pytest.raises(UnavailableError, match="GitHub limits the rate of requests"):
        scripted.client().read("/x")
    assert scripted.times.slept == [] and scripted.sent == 1


def test_all_waiting_together_is_bounded() -> None:
    scripted = Scripted(GithubResponse(403, {"retry-after": "25"}, SECONDARY), GOOD)
    scripted.turns = [scripted.turns[0], GOOD] * 9
    client = scripted.client(patience="60s")
    client.read("/x")
    client.read("/x")
    with pytest.raises(UnavailableError):
        client.read("/x")
    assert 0 < sum(scripted.times.slept) <= 60


def test_time_that_others_take_is_not_that_of_github() -> None:
    scripted = Scripted(GOOD)
    client = scripted.client(patience="1m")
    for _ in range(3):
        assert client.read("/x") == {"ok": True}
        scripted.times.pass_by(minutes=5)


def test_slow_answers_count_too() -> None:
    scripted = Scripted(GOOD)
    client = scripted.client(patience="60s")
    scripted.takes = 61.0
    client.read("/x")
    with pytest.raises(UnavailableError, match="slowly"):
        client.read("/x")


def test_writes_keep_a_second_between_them() -> None:
    scripted = Scripted(GOOD)
    client = scripted.client()
    client.write("POST", "/x", {})
    scripted.times.pass_by(seconds=0.25)
    client.write("POST", "/x", {})
    assert scripted.times.slept == [0.75]


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (
            GithubResponse(401, {}, {"message": "Bad credentials"}),
            UserError,
            "GitHub rejects the token in",
        ),
        (
            GithubResponse(403, {}, {"message": "Resource not accessible"}),
            ForbiddenError,
            "permission",
        ),
        (GithubResponse(403, {}, {"message": "issue is locked"}), GithubRefusedError, "locked"),
        (GithubResponse(404, {}, {"message": "Not Found"}), GithubRefusedError, "404"),
        (
            GithubResponse(422, {}, {"message": "Validation Failed"}),
            GithubRefusedError,
            "Validation Failed",
        ),
        (GithubResponse(307, {}, None), GithubRefusedError, "307"),
    ],
)
def test_refusals_are_not_repeated(
    answer: GithubResponse, error: type[Exception], says: str
) -> None:
    scripted = Scripted(answer, GOOD)
    with pytest.raises(error, match=says) as raised:
        scripted.client().write("POST", "/x", {})
    assert scripted.sent == 1
    assert "\n" not in str(raised.value)


def test_no_error_shows_the_token() -> None:
    # If a secret is cut in two at the end of the text, neither half is shown.
    for said in (TOKEN, 190 * "x" + TOKEN):
        for status in (401, 403, 422):
            with pytest.raises((UserError, GithubRefusedError)) as raised:
                Scripted(GithubResponse(status, {}, {"message": said})).client().read("/x")
            assert TOKEN[:8] not in str(raised.value)
    with pytest.raises(UnavailableError) as down:
        Scripted(NotSentError(f"no {TOKEN}")).client().read("/x")
    assert TOKEN not in str(down.value)


@pytest.mark.parametrize("data", [None, {}, {"artifacts": None}, 7, "text"])
def test_what_is_no_listing_is_no_answer(data: Any) -> None:
    for within in ("", "artifacts"):
        with pytest.raises(UnavailableError, match="the response of GitHub is not a valid list"):
            list(Scripted(GithubResponse(200, {}, data)).client().read_all("/x", within))


def test_what_is_shown_is_not_sent() -> None:
    shown: list[Preview] = []
    scripted = Scripted(GOOD)
    section = GithubSection(repository=NAME, url="https://git.acme.example/api/v3/")
    client = Client(section, TOKEN, show=shown.append, transport=scripted)
    assert client.write("POST", "/repos/a/b/issues", {"title": "t"}) is None
    assert scripted.sent == 0
    (preview,) = shown
    assert preview.place == "https://git.acme.example/api/v3/repos/a/b/issues"
    assert (preview.method, preview.payload) == ("POST", {"title": "t"})


def test_a_token_is_not_sent_where_the_network_sees_it() -> None:
    with pytest.raises(UserError, match="use https"):
        pygithub("http://git.acme.example/api/v3", TOKEN)


class Network:
    """A client of the fake over real sockets, with a clock of its own."""

    def __init__(self, fake: FakeGithub) -> None:
        self.times = Times()
        section = GithubSection(repository=NAME, url=fake.url)
        self.client = Client(section, TOKEN, clock=self.times.clock())


@pytest.fixture
def fake() -> FakeGithub:
    fake = FakeGithub()
    fake.repository(NAME)
    fake.account(TOKEN, "nightshift[bot]")
    return fake


def test_over_a_network_what_was_cut_after_it_was_done_is_done_once(fake: FakeGithub) -> None:
    with fake.serving():
        client = Network(fake).client
        for fault in (cut(done=True), failing(502, done=True)):
            fake.faults = [fault]
            with pytest.raises(UnknownError):
                client.write("POST", f"/repos/{NAME}/issues", {"title": "one"})
        assert len(fake.repository(NAME).listed()) == 2
        assert client.read(f"/repos/{NAME}/issues/2")["title"] == "one"


def test_over_a_network_limits_and_errors_pass(fake: FakeGithub) -> None:
    with fake.serving():
        network = Network(fake)
        now = int(network.times.now.timestamp())
        fake.faults = [cut(), failing(500), secondary_limit(3), primary_limit(now + 20)]
        assert network.client.read(f"/repos/{NAME}")["full_name"] == NAME
        fake.faults = [secondary_limit(None, status=429)]
        made = network.client.write("POST", f"/repos/{NAME}/issues", {"title": "one"})
        assert made["number"] == 1
        assert len(fake.repository(NAME).listed()) == 1


def test_over_a_network_listings_are_read_to_their_end(fake: FakeGithub) -> None:
    for number in range(230):
        fake.repository(NAME).open("alice", f"issue {number}")
    with fake.serving():
        listed = list(Network(fake).client.read_all(f"/repos/{NAME}/issues", direction="asc"))
    assert [issue["number"] for issue in listed] == list(range(1, 231))


def test_over_a_network_a_refused_connection_is_certain_not_to_be_a_write(
    fake: FakeGithub,
) -> None:
    with fake.serving():
        network = Network(fake)
    with pytest.raises(UnavailableError, match="no connection") as raised:
        network.client.write("POST", f"/repos/{NAME}/issues", {"title": "one"})
    assert not isinstance(raised.value, UnknownError)
    assert len(network.times.slept) == 5 - 1


def test_over_a_network_a_wrong_token_is_reported_with_what_to_do(fake: FakeGithub) -> None:
    with fake.serving():
        wrong = Client(GithubSection(repository=NAME, url=fake.url), "wrong")
        with pytest.raises(UserError, match="GitHub rejects the token in GITHUB_TOKEN"):
            wrong.read(f"/repos/{NAME}")


class Half(BaseHTTPRequestHandler):
    """Promises more than it sends, then sends what is no JSON."""

    def do_GET(self) -> None:
        self.send_response(200)
        text = b'{"number": 1'
        promised = 1000 if self.path.endswith("short") else len(text)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@pytest.mark.parametrize("path", ["/short", "/broken"])
def test_over_a_network_half_an_answer_is_none(path: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Half) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            send = pygithub(f"http://127.0.0.1:{server.server_port}", TOKEN)
            for method in ("GET", "POST"):
                with pytest.raises(CutError):
                    send(method, path, {}, None)
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("token", ["ghp_€", "“ghp_x”", "two\nlines", "ümlaut"])
def test_a_token_that_cannot_be_sent_is_one_line_that_does_not_show_it(token: str) -> None:
    with pytest.raises(UserError, match="set it again") as raised:
        pygithub("https://api.github.com", token)
    assert token not in str(raised.value)
