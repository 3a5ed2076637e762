"""The workflows that measure nothing: the reaper, the one that polls, the one of comments."""

from __future__ import annotations

from tests.fakes.github.server import GithubServer
from tests.fakes.hetzner import FakeHetzner
from tests.real.workflows.act import ROOT, Actions, commit
from tests.real.workflows.conftest import DATABASE, caller

CONFIG = """
[fleet]
name = "test"

[[line]]
name = "minors"
target = "postgres"
revisions = ["17.4"]

[[workload]]
name = "short"
steps = ["point-query"]

[[class]]
name = "cloud"
cores = 2
memory_gb = 8
server_type = "ccx13"
"""

SECRETS = "    secrets: {hcloud_token: '${{ secrets.hcloud_token }}'}\n"


def server(name: str, expires: str) -> dict[str, object]:
    labels = {"nightshift": "test", "night": "1", "role": "bench", "expires": expires}
    return {"name": name, "server_type": "ccx13", "image": "debian-12", "labels": labels}


def test_the_reaper_deletes_what_is_past_its_time(actions: Actions, hetzner: FakeHetzner) -> None:
    commit(
        actions.repositories[DATABASE],
        {
            "nightshift.toml": CONFIG,
            ".github/workflows/reap.yml": caller("reap.yml", "workflow_dispatch", SECRETS),
        },
        "the reaper",
    )
    hetzner.project.make("servers", server("forgotten", "20200101T000000Z"))
    hetzner.project.make("servers", server("alive", "20991231T000000Z"))
    hetzner.project.make("servers", {**server("theirs", "20200101T000000Z"), "labels": {}})
    done = actions.run(DATABASE, "reap.yml", "workflow_dispatch")
    assert done.results() == {"reap": "success"}, done
    left = {each["name"] for each in hetzner.project.things["servers"].values()}
    assert left == {"alive", "theirs"}
    assert "deleted server forgotten" in done.said()


def test_a_release_starts_one_night(actions: Actions, github: GithubServer) -> None:
    repository = github.repository(DATABASE)
    repository.add_workflow(".github/workflows/nightly.yml")
    files = {
        "nightshift.toml": CONFIG,
        ".github/workflows/releases.yml": caller("releases.yml", "workflow_dispatch"),
    }
    commit(actions.repositories[DATABASE], files, "releases")

    def poll() -> int:
        done = actions.run(DATABASE, "releases.yml", "workflow_dispatch")
        assert done.results() == {"poll": "success"}, done
        return len(repository.runs.all())

    assert poll() == 1, "there is a revision that was never measured"
    assert poll() == 1, "and a night was started for it"
    newer = CONFIG.replace('["17.4"]', '["17.4", "17.5"]')
    commit(actions.repositories[DATABASE], {"nightshift.toml": newer}, "a release")
    assert poll() == 2
    (first, second) = repository.runs.all()
    assert first.event == second.event == "workflow_dispatch"
    assert first.workflow.path == ".github/workflows/nightly.yml"


def test_a_failed_check_fails_ci_and_the_tests_run_all_the_same(actions: Actions) -> None:
    files = {
        name: (ROOT / name).read_text() for name in (".ci/run", ".github/workflows/ci.yml")
    } | {"Makefile": "check:\n\t@echo checked; false\ntest test-real:\n\t@echo made $@\n"}
    here = actions.repositories[DATABASE]
    commit(here, files, "ci")
    (here / ".ci/run").chmod(0o755)
    commit(here, {}, "run")
    done = actions.run(DATABASE, "ci.yml", "push", {"ref": "refs/heads/main"})
    assert done.results() == {"change": "failure"}
    said = done.said("change")
    assert (
        "checked" in said
        and "made test\n" in said
        and "made test-real" in said
        and "make check FAILED" in said
    )
