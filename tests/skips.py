"""Which skips are expected wherever tests run, and which mean that something was not installed.

CI installs everything that a test needs. A test that is skipped there for want of a program or of
a registry proves nothing, so it fails. What follows are facts about a machine or its user that no
installation changes, as the beginnings of reasons; each holds on some machine that runs CI.
"""

from __future__ import annotations

FACTS = (
    # The user: as root some tests have nothing to show, and without root others cannot be run.
    "only root ",
    "root may read every file",
    "the servers run as ourselves",
    "a disk that is full has to be mounted, which takes root",
    "mounting a small file system takes root",
    # The kernel, the processor, the file system.
    "mounting is not permitted here",
    "no CPU profile",
    "memory cannot be limited here",
    "no counters of the processor",
    "page faults cannot be counted",
    "the file system of ",
    "the kernel does not let ",
    "the loader is named for x86-64",
    "this build has io_uring",
    "this kernel has no PSI",
    "this machine does not let root mount a small disk",
    "this machine has no /etc/machine-id",
    "this machine has one processor",
    # No container engine and no systemd runs in a container that CI runs in.
    "docker compose is not here",
    "systemd-analyze is not installed",
    # Terraform and OpenTofu read the same configuration; CI has one of them.
    "terraform is not installed",
    "tofu is not installed",
)


def expected(reason: str) -> bool:
    """Say whether a test may be skipped for this reason in CI, too."""
    return reason.removeprefix("Skipped: ").startswith(FACTS)
