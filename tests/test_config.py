from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.config import Config, ConfigFile, Paths, load_config
from pipeline.text.errors import UserError

START = """\
[[line]]
name = "first"
target = "postgres"

[[line]]
name = "second"
target = "postgres"

[[workload]]
name = "cached"

[[workload]]
name = "other"
"""
"""Thirteen lines; what a test appends begins on line 14 and belongs to the workload other."""


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        ConfigFile(Path("nightshift.toml"), text)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("added", "place", "said"),
    [
        ("rwos = 3000", "14: workload.rwos", "did you mean rows?"),
        ("[night]\nreptitions = 3", "15: night.reptitions", "did you mean repetitions?"),
        ("[nght]", "14: nght", "did you mean night?"),
        ("[paths]\nresult = 'x'", "15: paths.result", "did you mean results?"),
        ("[store]\nuri = 'x'", "15: store.uri", "did you mean url?"),
        ("[machine]\nclas = 'x'", "15: machine.clas", "did you mean class?"),
        ("[detect]\nmetric = ['qps']", "15: detect.metric", "did you mean metrics?"),
        ("[report]\nworst = 0.9", "15: report.worst", "did you mean worse?"),
        ("[[class]]\nname='x'\ncores=2\nmemory=8", "17: class.memory", "did you mean memory_gb?"),
        (
            "[[class]]\nname='x'\ncores=2\nmemory_gb=8\nlines=['y']",
            "18: class.lines",
            "there is no line 'y'",
        ),
        ("[notify]\nsincs = 'x'", "15: notify.sincs", "did you mean sinks?"),
        (
            "[publish]\nurl = '127.0.0.1:9090'",
            "15: publish.url",
            "is not the address of a receiver",
        ),
        ("[publish]\nsecret = 'a b'", "15: publish.secret", "not the name of an environment"),
        ("[hub]\nretention = '15'", "15: hub.retention", "write a number and y, w or d"),
        ("[hub]\nalertmanager = 'here'", "15: hub.alertmanager", "is not a host with a port"),
        ("[hub]\nsite_url = 'here'", "15: hub.site_url", "is not an address; write for example"),
        (
            "[hub]\nhost = 'here'",
            "14: hub",
            "host 'here' is not an IP address; write one, for example 127.0.0.1",
        ),
        ("[hub]\ngrafana_port = 0", "15: hub.grafana_port", "greater than or equal to 1"),
        ("[quick]\nrow = 5000", "15: quick.row", "did you mean rows?"),
        ("[quick]\nzzz = 1", "15: quick.zzz", "choose one of repetitions, newest"),
        (
            "[[line]]\nname = 'x'\ntarget = 'postgres'\nsinze = '14'",
            "17: line.sinze",
            "did you mean since?",
        ),
        # The misspelt name is the mistake, not that the name is missing.
        ("[[line]]\nnamee = 'x'\ntarget = 'postgres'", "15: line.namee", "did you mean name?"),
        ("[[line]]\ntarget = 'postgres'", "14: line.name", "is missing and has no default"),
        (
            "measure = '15 minutes'",
            "14: workload.measure",
            "'15 minutes' is not a duration; write a number",
        ),
        (
            "warmup = 250",
            "14: workload.warmup",
            "250 is not a duration; write a number and one of ms, s, m, h",
        ),
        (
            "[detect]\nmin_effect = 0.03",
            "15: detect.min_effect",
            "0.03 is not a percentage; write it with the percent sign",
        ),
        ("rows = '20000'", "14: workload.rows", "input should be a valid integer"),
        ("rows = 20000.0", "14: workload.rows", "input should be a valid integer"),
        ("rows = true", "14: workload.rows", "input should be a valid integer"),
        ("rows = 999", "14: workload.rows", "input should be greater than or equal to 1000"),
        (
            "clients = [\n  1,\n  0,\n]",
            "16: workload.clients",
            "input should be greater than or equal to 1",
        ),
        ("clients = []", "14: workload.clients", "is an empty list; give at least one"),
        ("clients = 4", "14: workload.clients", "is not a list; write it in brackets"),
        ("steps = 'scan'", "14: workload.steps", "is not a list; write it in brackets"),
        ("config = 1979-05-27", "14: workload.config", "input should be a valid string"),
        ("config = 'x 10'", "14: workload.config", "'x 10' is not a name; write letters, digits"),
        ("[machine]\npin = 1", "15: machine.pin", "input should be a valid boolean"),
        ("[machine]\npin = 'yes'", "15: machine.pin", "input should be a valid boolean"),
        (
            "[machine]\nport = 65536",
            "15: machine.port",
            "input should be less than or equal to 65535",
        ),
        (
            "[machine]\nprice_per_hour = 0.34",
            "15: machine.price_per_hour",
            "0.34 is not a price; write a number and a currency code",
        ),
        ("[night]\nrepetitions = 0", "15: night.repetitions", "input should be greater than"),
        (
            "[detect]\nalarms_per_1000 = 0",
            "15: detect.alarms_per_1000",
            "input should be greater than 0",
        ),
        (
            "[detect]\nalarms_per_1000 = 100",
            "15: detect.alarms_per_1000",
            "input should be less than 100",
        ),
        ("[detect]\nalarms_per_1000 = nan", "15: detect.alarms_per_1000", ""),
        (
            "[detect]\nmetrics = [\n'qps',\n'qpss']",
            "17: detect.metrics",
            "there is no metric 'qpss'; did you mean qps?",
        ),
        (
            "[preflight]\nrefuse = [\n'turbo',\n'governer']",
            "17: preflight.refuse",
            "there is no check 'governer'; did you mean governor?",
        ),
        (
            "[preflight]\nignore = ['load']\nrefuse = ['turbo', 'load']",
            "15: preflight.ignore",
            "load is in refuse too; remove it from one",
        ),
        ("[preflight]\nwait = 10", "15: preflight.wait", "10 is not a duration"),
        ("[notify]\nsinks = ['mail']", "15: notify.sinks", "input should be 'directory'"),
        (
            "[[line]]\nname='x'\ntarget='postgres'\ntake = 'newest'",
            "17: line.take",
            "input should be 'newest-of-each-major' or 'all'",
        ),
        (
            "[[line]]\nname='x'\ntarget='postgres'\nsince = 'v14'",
            "17: line.since",
            "'v14' is not a version; write a version or its beginning",
        ),
        (
            "[[line]]\nname='x'\ntarget='postgres'\nsince = 14",
            "17: line.since",
            "input should be a valid string",
        ),
        (
            "[[line]]\nname='x'\ntarget='postgres'\nrevisions=['17.1']\nsince='14'",
            "14: line",
            "set revisions, or any of take",
        ),
        (
            "[[line]]\nname = 'second'\ntarget = 'postgres'",
            "15: line.name",
            "two line tables have the name second",
        ),
        (
            "[[workload]]\nname = 'cached'",
            "15: workload.name",
            "two workload tables have the name cached",
        ),
        (
            "lines = [\n  'first',\n  'secnd',\n]",
            "16: workload.lines",
            "there is no line 'secnd'; did you mean second?",
        ),
        ("[[night]]", "14: night", "this table can appear only once; write [night] above it"),
        ("x = [", "14: not valid TOML", ""),
        ("name = 'again'", "14: not valid TOML", "cannot overwrite a value"),
    ],
)
def test_a_mistake_is_answered_with_its_line_and_what_was_meant(
    added: str, place: str, said: str
) -> None:
    message = refusal(START + added)
    assert message.startswith(f"nightshift.toml:{place}: ")
    assert said in message


def test_a_single_table_where_there_can_be_many() -> None:
    assert refusal("[line]\nname = 'x'\n").startswith(
        "nightshift.toml:1: line: this table can appear several times; write [[line]] above each"
    )


def test_the_second_of_two_tables_is_the_one_named() -> None:
    text = START.replace('name = "second"', 'name = "second"\nnewest = -1')
    assert refusal(text).startswith("nightshift.toml:7: line.newest: ")


def test_of_several_mistakes_the_first_in_the_file_is_said() -> None:
    assert refusal("[quick]\nrows = 1\n[night]\nrepetitions = 0\n").startswith("nightshift.toml:2:")


def test_a_line_of_the_file_is_never_an_emoji() -> None:
    assert refusal("#\n" * 99 + "typo = 1").startswith("nightshift.toml:100: typo")


def test_an_empty_file_is_all_defaults(tmp_path: Path) -> None:
    (tmp_path / "nightshift.toml").write_text("")
    config = load_config(tmp_path / "nightshift.toml").config
    assert config == Config()
    assert (config.night.repetitions, config.detect.min_effect) == (3, 0.03)


def test_units_are_read(tmp_path: Path) -> None:
    text = (
        '[[workload]]\nname = "w"\nmeasure = "15m"\nwarmup = "250ms"\n[detect]\nmin_effect = "5%"'
    )
    config = ConfigFile(tmp_path, text).config
    assert (config.workload[0].measure, config.workload[0].warmup) == (900.0, 0.25)
    assert config.detect.min_effect == pytest.approx(0.05)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="does not exist; change to the folder that holds it, or give"
    ):
        load_config(tmp_path / "nightshift.toml")


def test_a_folder_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is a folder; give the file in it: --config .*\.toml"):
        load_config(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "nightshift.toml"
    path.write_text("")
    path.chmod(0)
    with pytest.raises(UserError, match="cannot be read: Permission denied"):
        load_config(path)


def test_text_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "nightshift.toml"
    path.write_bytes(b"[night]\n# d\xe9\n")
    with pytest.raises(
        UserError, match=r"nightshift\.toml:2: the file is not encoded in " "UTF-8; save it"
    ):
        load_config(path)


def test_a_mark_of_the_encoding_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "nightshift.toml"
    path.write_bytes(b"\xef\xbb\xbf[night]\nrepetitions = 5\n")
    assert load_config(path).config.night.repetitions == 5


def test_where_things_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    config = Config()
    assert config.store_url == f"sqlite:///{tmp_path}/results/store.db"
    assert config.issues_folder == Path("results/issues")
    assert ConfigFile(Path("x"), '[store]\nurl = "postgresql://h/d"').config.store_url == (
        "postgresql://h/d"
    )
    assert ConfigFile(Path("x"), '[notify]\nfolder = "told"').config.issues_folder == Path("told")


def test_the_cache_is_as_configured_then_as_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIGHTSHIFT_CACHE", "from-environment")
    assert Paths(cache=Path("chosen")).cache_folder == tmp_path / "chosen"
    assert Paths().cache_folder == tmp_path / "from-environment"
    monkeypatch.delenv("NIGHTSHIFT_CACHE")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert Paths().cache_folder == Path("/var/cache/nightshift")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert Paths().cache_folder == tmp_path / "xdg" / "nightshift"
