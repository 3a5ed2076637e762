"""One cause, one issue: regressions that bisections led to the same culprit."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.model import Regression


def by_cause(regressions: Iterable[Regression]) -> list[tuple[Regression, ...]]:
    """Put regressions together whose confirmed culprits are the same, in the order of the first.

    Their change points were too far apart to be one regression, or are of different lines: of
    other workloads or builds. The parent has to be the same, too: from one major to the next is
    another change than within it.
    """
    causes: dict[tuple[str, ...], list[Regression]] = {}
    for one in regressions:
        culprit = one.culprit
        cause = (
            ("culprit", one.target, culprit.parent, culprit.revision)
            if one.worse and culprit is not None and culprit.confirmed
            else ("regression", one.fingerprint)
        )
        causes.setdefault(cause, []).append(one)
    return [tuple(found) for found in causes.values()]
