"""Remote write against a receiver whose faults are chosen."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import __version__
from pipeline.publish import remote
from pipeline.publish.credentials import Credentials, basic, bearer
from pipeline.publish.remote import RemoteWriteError, RemoteWriter, Written, batches
from pipeline.publish.samples import Labels, TimedValue, TimeSeries, labelled
from pipeline.text.errors import UserError
from tests.fakes.receiver import Fault, Receiver
from tests.fakes.site import Sleeps
from tests.ports import free_port

TOKEN = "s3cret-t0ken"  # noqa: S105 - known to the tests alone

AT = ["Sun, 01 Mar 2026 02:00:00 GMT", "Sun, 01 Mar 2026 02:00:30 GMT"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    with server.serving():
        yield server


@pytest.fixture
def sleeps() -> Sleeps:
    return Sleeps()


@pytest.fixture
def writer(receiver: Receiver, sleeps: Sleeps) -> Callable[..., RemoteWriter]:
    def make(**settings: object) -> RemoteWriter:
        given = {"batch": 10, "sleep": sleeps, "jitter": lambda: 1.0, **settings}
        return RemoteWriter(receiver.url, **given)  # type: ignore[arg-type]

    return make


def make_series(count: int, samples: int = 1) -> list[TimeSeries]:
    return [
        TimeSeries(
            labelled("nightshift_test", n=f"{n:04}"),
            [TimedValue(1000 * at, n + at / 10) for at in range(samples)],
        )
        for n in range(count)
    ]


def stored(series: list[TimeSeries]) -> dict[Labels, dict[int, float]]:
    return {each.labels: {sample.at: sample.value for sample in each.samples} for each in series}


@given(st.lists(st.integers(0, 12), max_size=8), st.integers(1, 9))
@settings(deadline=None)
def test_batches_hold_every_sample_once_in_order(sizes: list[int], most: int) -> None:
    series = [
        TimeSeries(labelled("x", n=n), [TimedValue(at, n) for at in range(size)])
        for n, size in enumerate(sizes)
    ]
    divided = list(batches(series, most))
    counts = [sum(len(each.samples) for each in batch) for batch in divided]
    assert all(count == most for count in counts[:-1])
    assert all(0 < count <= most for count in counts)
    given = [(each.labels, sample) for each in series for sample in each.samples]
    assert given == [
        (each.labels, sample) for batch in divided for each in batch for sample in each.samples
    ]


def test_every_sample_is_sent_in_as_few_requests_as_batches(
    receiver: Receiver, writer: Callable[..., RemoteWriter]
) -> None:
    series = make_series(5, samples=7)
    assert writer().write(iter(series)) == Written(sent=35)
    assert receiver.stored == stored(series)
    # Four batches, each with its beginnings before it.
    assert len(receiver.asked) == 4 + 4
    for headers in receiver.asked:
        assert headers["Content-Encoding"] == "snappy"
        assert headers["Content-Type"] == "application/x-protobuf"
        assert headers["X-Prometheus-Remote-Write-Version"] == "0.1.0"
        assert headers["User-Agent"] == f"nightshift/{__version__}"
        assert headers["Authorization"] is None


def test_nothing_to_send_is_no_request(
    receiver: Receiver, writer: Callable[..., RemoteWriter]
) -> None:
    assert writer().write([]) == Written()
    assert receiver.asked == []


def test_what_may_pass_is_tried_again_later_and_later(
    receiver: Receiver, writer: Callable[..., RemoteWriter], sleeps: Sleeps
) -> None:
    receiver.faults = [
        Fault(503),
        Fault(500, "write to WAL: no space left on device"),
        Fault(429),
        Fault(408),
        Fault(),
        Fault(taken=True),
    ]
    series = make_series(3)
    assert writer().write(series) == Written(sent=3)
    assert receiver.stored == stored(series)
    assert sleeps == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]


def test_the_jitter_takes_up_to_half_of_a_wait(
    receiver: Receiver, writer: Callable[..., RemoteWriter], sleeps: Sleeps
) -> None:
    receiver.faults = [Fault(503), Fault(503)]
    writer(jitter=lambda: 0.0).write(make_series(1))
    assert sleeps == [0.25, 0.5]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7.0),
        # A time of the receiver's clock, which may be wrong.
        ({"Date": AT[0], "Retry-After": AT[1]}, 30.0),
        ({"Date": AT[1], "Retry-After": AT[0]}, 0.5),
        ({"Retry-After": "soon"}, 0.5),
        ({"Retry-After": "-3"}, 0.5),
        ({"Retry-After": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, 0.5),
    ],
)
def test_a_receiver_says_when_to_come_back(
    receiver: Receiver,
    writer: Callable[..., RemoteWriter],
    sleeps: Sleeps,
    headers: dict[str, str],
    wait: float,
) -> None:
    receiver.faults = [Fault(429, "too fast", headers)]
    writer().write(make_series(1))
    assert sleeps == [wait]


def test_who_comes_back_later_than_we_would_wait_is_not_waited_for(
    receiver: Receiver, writer: Callable[..., RemoteWriter], sleeps: Sleeps
) -> None:
    receiver.faults = [Fault(429, "too fast", {"Retry-After": "3600"})]
    with pytest.raises(RemoteWriteError, match=r"returned 429 Too Many Requests \(too fast\)"):
        writer().write(make_series(1))
    assert sleeps == []


def test_patience_ends_and_is_not_spent_twice(
    receiver: Receiver, writer: Callable[..., RemoteWriter], sleeps: Sleeps
) -> None:
    sending = writer(patience=5.0, clock=lambda: 0.0)
    assert sending.write(make_series(10)) == Written(sent=10)

    def series() -> Iterator[TimeSeries]:
        yield from make_series(20)
        receiver.faults = [Fault(503, "down for repair")] * 99
        yield from make_series(5)

    with pytest.raises(RemoteWriteError) as error:
        sending.write(series())
    assert sum(sleeps) == 5.0
    assert error.value.written == Written(sent=20)
    assert str(error.value) == (
        f"{receiver.url} returned 503 Service Unavailable (down for repair); check that it runs, "
        "its log, and the address in [publish]; the remaining samples are published the next time"
    )
    asked = len(receiver.asked)
    with pytest.raises(RemoteWriteError, match="returned 503") as again:
        sending.write(make_series(1))
    assert again.value.written == Written()
    assert len(receiver.asked) == asked and sum(sleeps) == 5.0


def test_what_an_attempt_takes_is_part_of_the_patience(
    receiver: Receiver, writer: Callable[..., RemoteWriter], sleeps: Sleeps
) -> None:
    ticks = iter(range(0, 10_000, 20))
    receiver.faults = [Fault(503)] * 99
    with pytest.raises(RemoteWriteError):
        writer(patience=50.0, clock=lambda: float(next(ticks))).write(make_series(1))
    assert len(sleeps) == 2


def test_nobody_there_is_reported_in_the_words_of_the_operating_system(sleeps: Sleeps) -> None:
    port = free_port()
    writer = RemoteWriter(f"http://127.0.0.1:{port}/api/v1/write", sleep=sleeps, patience=1.0)
    with pytest.raises(
        RemoteWriteError,
        match=r"does not answer \(Connection refused\); check that",
    ):
        writer.write(make_series(1))


@pytest.mark.parametrize("status", [400, 409, 413, 422, 500])
def test_refused_samples_are_found_and_the_others_taken(
    receiver: Receiver, writer: Callable[..., RemoteWriter], sleeps: Sleeps, status: int
) -> None:
    bad = {"0003": "out of order sample", "0017": "out of bounds", "0018": "out of bounds"}
    receiver.refusal = status
    receiver.refuses = lambda labels, sample: (
        bad.get(dict(labels)["n"], "") if sample.at == 1000 else ""
    )
    series = make_series(30, samples=3)
    assert writer(batch=50).write(series) == Written(
        sent=87, refused=3, reasons=("out of order sample", "out of bounds")
    )
    expected = stored(series)
    for each in series:
        if dict(each.labels)["n"] in bad:
            del expected[each.labels][1000]
    assert receiver.stored == expected
    assert sleeps == []


def test_the_search_for_refused_samples_has_an_end(
    receiver: Receiver, writer: Callable[..., RemoteWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "SEARCHES", 40)
    receiver.refuses = lambda labels, sample: f"out of bounds: {dict(labels)['n']}"
    written = writer().write(make_series(1000))
    assert written.sent == 0 and written.refused == 1000
    assert written.reasons == tuple(f"out of bounds: 000{n}" for n in range(3))
    # Each of the hundred batches once, its beginnings before it, and what the search cost.
    assert len(receiver.asked) == 2 * 100 + 40


@pytest.mark.parametrize("status", [301, 307, 308, 401, 403, 404, 405])
def test_who_refuses_us_is_asked_once(
    receiver: Receiver, writer: Callable[..., RemoteWriter], sleeps: Sleeps, status: int
) -> None:
    elsewhere = Receiver()
    with elsewhere.serving():
        receiver.faults = [
            Fault(status, f"not with Bearer {TOKEN}\n\x1b[2J", {"Location": elsewhere.url})
        ]
        sending = writer(credentials=bearer("TOKEN", {"TOKEN": TOKEN}))
        with pytest.raises(RemoteWriteError, match=f"returned {status} ") as error:
            sending.write(make_series(30))
    assert error.value.written == Written()
    assert len(receiver.asked) == 1 and elsewhere.asked == [] and sleeps == []
    assert "(not with Bearer *** [2J); check " in str(error.value)
    assert TOKEN not in repr(error.value) and "\n" not in str(error.value)


def test_a_receivers_long_words_are_cut(
    receiver: Receiver, writer: Callable[..., RemoteWriter]
) -> None:
    receiver.refuses = lambda labels, sample: "<html>\n" + "x" * 9000
    (reason,) = writer().write(make_series(1)).reasons
    assert reason == "<html> " + "x" * 190 + "..."


@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        (bearer("TOKEN", {"TOKEN": f" {TOKEN}\n"}), f"Bearer {TOKEN}"),
        (
            basic("aladdin", "PASSWORD", {"PASSWORD": "opensesame"}),
            "Basic YWxhZGRpbjpvcGVuc2VzYW1l",
        ),
    ],
)
def test_credentials_are_sent_and_never_shown(
    receiver: Receiver, writer: Callable[..., RemoteWriter], credentials: Credentials, header: str
) -> None:
    receiver.refuses = lambda labels, sample: f"who are you, {header.split()[1]} and opensesame?"
    (reason,) = writer(credentials=credentials).write(make_series(1)).reasons
    assert receiver.asked[0]["Authorization"] == header
    for secret in (header.split()[1], "opensesame" if "Basic" in header else TOKEN):
        assert secret not in reason and secret not in repr(credentials)


def test_credentials_that_are_not_there_are_named() -> None:
    with pytest.raises(UserError, match=r"variable TOKEN .* is not set"):
        bearer("TOKEN", {})
    with pytest.raises(UserError, match=r"variable TOKEN .* is not set"):
        basic("me", "TOKEN", {"TOKEN": " "})
    for unfit in ("two words", "line\nbreak", "käse"):
        with pytest.raises(UserError, match="variable TOKEN holds no valid token") as error:
            bearer("TOKEN", {"TOKEN": unfit})
        assert unfit not in str(error.value)


def test_an_address_that_nobody_can_have_is_one_line(sleeps: Sleeps) -> None:
    writer = RemoteWriter("http://a..b/api/v1/write", sleep=sleeps, patience=1.0)
    with pytest.raises(RemoteWriteError, match=r"does not answer .*'a\.\.b'"):
        writer.write(make_series(1))


def test_a_file_that_the_environment_names_and_that_is_not_there_is_one_line(
    sleeps: Sleeps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/missing.pem")
    writer = RemoteWriter("https://receiver.invalid/api/v1/write", sleep=sleeps, patience=1.0)
    with pytest.raises(RemoteWriteError, match=r"does not answer .*/missing\.pem"):
        writer.write(make_series(1))


@pytest.mark.parametrize(
    "url", ["", "localhost:9090", "ftp://host/x", "http://", "http://host:port/", "http://u:p/w@h/"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(
        UserError,
        match=r"\[publish\] url is not the address of a remote-write receiver; write for example http://127\.0\.0\.1:9090/api/v1/write",
    ):
        RemoteWriter(url)


def test_an_address_never_holds_or_shows_secrets() -> None:
    with pytest.raises(
        UserError,
        match=(
            "contains credentials; put them into an environment variable and set secret to its name"
        ),
    ) as error:
        RemoteWriter("http://me:opensesame@host/api/v1/write")
    assert "opensesame" not in str(error.value)
    assert RemoteWriter("http://[::1]:9/push?key=opensesame").name == "http://[::1]:9/push"


def test_a_private_receiver_is_checked_by_its_authority(
    receiver: Receiver, sleeps: Sleeps, tmp_path: Path
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: there is nobody to make a certificate")
    certificate, key = str(tmp_path / "certificate"), str(tmp_path / "key")
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    name = ["-nodes", "-subj", "/CN=hub", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*make, *name, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    private = Receiver()
    private.encrypted(certificate, key)
    with private.serving():
        with pytest.raises(RemoteWriteError, match=r"has no trusted TLS certificate .*certificate"):
            RemoteWriter(private.url, sleep=sleeps).write(make_series(1))
        assert private.asked == [] and sleeps == []
        trusting = RemoteWriter(private.url, certificate=certificate)
        assert trusting.write(make_series(1)) == Written(sent=1)
    with pytest.raises(
        UserError, match="\\(\\[publish\\] certificate\\) is not a certificate file"
    ):
        RemoteWriter(private.url, certificate=str(tmp_path / "missing"))


def test_what_is_lost_with_a_series_that_is_new_is_sent_once_more(
    receiver: Receiver,
    writer: Callable[..., RemoteWriter],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: set[Labels] = set()
    take = receiver.take

    def forget_what_is_new(series: list[TimeSeries]) -> None:
        take([each for each in series if each.labels in known])
        known.update(each.labels for each in series)

    monkeypatch.setattr(receiver, "take", forget_what_is_new)
    series = make_series(3, samples=2)
    assert writer(batch=100).write(series) == Written(sent=6)
    assert receiver.stored == stored(series)
