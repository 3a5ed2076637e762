"""Which function calls which in a step, with the instructions on both sides of a change.

docs/guide/explaining.md describes how a function's cost is divided among its callers.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pipeline.model import Frozen, StepCounts
from pipeline.model.counts import FLOOR

LEAST_FRAME = 0.003
"""A frame is shown if its cost is at least this share of the total. The larger side counts, for the
cost and for the total."""

MOST_FRAMES = 400
"""Maximum number of frames, of which the largest are kept: more than a page can show readably."""

DEEPEST = 60
"""Maximum depth of the tree in frames: enough for the longest chain of calls, and an end to
recursion."""

PASSED_ON = 0.98
"""A frame at the top of the tree is left out if its only callee has at least this share of its
cost."""

_ROUNDS = 200
"""Maximum number of iterations to compute the costs of functions that call one another. The costs
converge."""

_START = re.compile(
    r"\((?:no symbol|below main)\)|_start|__libc_start\w*(?:@.*)?|start_thread|clone\d?"
)
"""Functions that call main or the function of a thread. Callgrind gives several of them one name,
which looks like recursion."""

_VERSION = re.compile(r"[\d.-]+$")
"""The version at the end of the name of a library."""


class CallFrame(Frozen):
    """A function as it is called from one place: instructions per operation on both sides.

    ``parent`` is the place of its caller among the frames, -1 for the root, which is the whole
    operation and has no function. ``before`` and ``after`` include the functions that it calls,
    ``self_before`` and ``self_after`` do not.
    """

    function: str
    parent: int
    before: float
    after: float
    self_before: float
    self_after: float


class _Function(NamedTuple):
    name: str
    binary: str


class _Calls:
    """The functions of one side with their costs, alone and with the functions they call."""

    def __init__(self, counts: StepCounts) -> None:
        self.whole = counts.instructions
        keys = [
            _Function(each.function, _VERSION.sub("", each.binary)) for each in counts.functions
        ]
        self.own: dict[_Function, float] = {}
        called: dict[_Function, float] = {}
        for key, each in zip(keys, counts.functions, strict=True):
            self.own[key] = self.own.get(key, 0.0) + max(0.0, each.self_cost)
            called[key] = called.get(key, 0.0) + each.inclusive_cost
        calls = [
            (keys[call.caller], keys[call.callee], call.cost)
            for call in counts.calls
            if not any(_START.fullmatch(keys[place].name) for place in call[:2])
        ]
        from_callers: dict[_Function, float] = {}
        for _, callee, cost in calls:
            from_callers[callee] = from_callers.get(callee, 0.0) + cost
        # What none of the kept calls explains comes from many small callers, or from none.
        self.outside = {
            key: max(0.0, called[key] - from_callers.get(key, 0.0))
            / max(called[key], from_callers.get(key, 0.0))
            for key in keys
            if called[key] > 0.0 and not _START.fullmatch(key.name)
        }
        self.shares: dict[_Function, dict[_Function, float]] = {}
        for caller, callee, cost in calls:
            shares = self.shares.setdefault(caller, {})
            share = cost / max(called[callee], from_callers[callee])
            shares[callee] = shares.get(callee, 0.0) + share
        self.all = self._settled()

    def _settled(self) -> Mapping[_Function, float]:
        """Return the cost of each function with its share of the costs of its callees."""
        found = dict(self.own)
        for _ in range(_ROUNDS):
            settled = {
                key: own
                + sum(
                    share * found.get(callee, 0.0)
                    for callee, share in self.shares.get(key, {}).items()
                )
                for key, own in self.own.items()
            }
            moved = max((abs(settled[key] - found[key]) for key in found), default=0.0)
            found = settled
            if moved <= FLOOR * self.whole * FLOOR:
                break
        return found


Parts = tuple[float, float]
"""The shares of a function's cost, before and after, that belong to one frame."""


class _Open(NamedTuple):
    """A call that is not in the call tree yet."""

    key: _Function
    parent: int
    depth: int
    parts: Parts


def call_tree(before: StepCounts, after: StepCounts) -> tuple[CallFrame, ...]:
    """Return the call tree of both sides as frames, each after its caller; empty without calls.

    The root comes first. A function called from several places has a frame for each, and its cost
    is divided among them as callgrind counted its calls. Frames at the top whose work is almost all
    in one callee are left out.
    """
    if not before.calls or not after.calls:
        return ()
    sides = (_Calls(before), _Calls(after))
    least = LEAST_FRAME * max(side.whole for side in sides)
    frames = [_root(sides)]
    waiting: list[tuple[float, int, _Open]] = []
    number = 0

    def add(callees: Mapping[_Function, Parts], parent: int, depth: int) -> None:
        nonlocal number
        for key, parts in callees.items():
            largest = max(_costs(key, parts, sides))
            if largest >= least and depth <= DEEPEST:
                number += 1
                heapq.heappush(waiting, (-largest, number, _Open(key, parent, depth, parts)))

    add(_parts([side.outside for side in sides], (1.0, 1.0)), 0, 1)
    while waiting and len(frames) < MOST_FRAMES:
        _, _, opened = heapq.heappop(waiting)
        frames.append(_frame(opened, sides))
        shares = [side.shares.get(opened.key, {}) for side in sides]
        add(_parts(shares, opened.parts), len(frames) - 1, opened.depth + 1)
    return tuple(_without_entry(frames))


def _root(sides: tuple[_Calls, _Calls]) -> CallFrame:
    before, after = (side.whole for side in sides)
    return CallFrame(
        function="", parent=-1, before=before, after=after, self_before=0.0, self_after=0.0
    )


def _parts(shares: Sequence[Mapping[_Function, float]], of: Parts) -> dict[_Function, Parts]:
    """Return the callees of a frame, and the share of each callee's cost that belongs to the frame.

    ``of`` are the shares of the frame itself, before and after.
    """
    before, after = shares
    return {
        key: (of[0] * before.get(key, 0.0), of[1] * after.get(key, 0.0))
        for key in dict.fromkeys((*before, *after))
    }


def _costs(key: _Function, parts: Parts, sides: tuple[_Calls, _Calls]) -> tuple[float, float]:
    one, other = (part * side.all.get(key, 0.0) for part, side in zip(parts, sides, strict=True))
    return one, other


def _frame(opened: _Open, sides: tuple[_Calls, _Calls]) -> CallFrame:
    before, after = _costs(opened.key, opened.parts, sides)
    own_before, own_after = (
        part * side.own.get(opened.key, 0.0) for part, side in zip(opened.parts, sides, strict=True)
    )
    return CallFrame(
        function=opened.key.name,
        parent=opened.parent,
        before=before,
        after=after,
        self_before=own_before,
        self_after=own_after,
    )


def _without_entry(frames: list[CallFrame]) -> Iterator[CallFrame]:
    """Leave out functions at the top of the tree that do little but call one other function."""
    gone: set[int] = set()
    top = max(_called(frames, 0), key=lambda at: frames[at].after, default=None)
    while top is not None:
        one = frames[top]
        below = _called(frames, top)
        if len(below) != 1 or any(
            getattr(frames[below[0]], side) < PASSED_ON * getattr(one, side)
            for side in ("before", "after")
        ):
            break
        gone.add(top)
        top = below[0]
    place: dict[int, int] = {}
    for at, frame in enumerate(frames):
        parent = frame.parent
        while parent in gone:
            parent = frames[parent].parent
        if at not in gone:
            place[at] = len(place)
            yield frame.model_copy(update={"parent": place.get(parent, -1)})


def _called(frames: list[CallFrame], place: int) -> list[int]:
    return [at for at, frame in enumerate(frames) if frame.parent == place]
