"""Draw flame graphs as self-contained SVG files.

The width of a frame is its time on a processor. A called function is above its caller; neighbours
are in alphabetical order, not in order of time. The tooltip of a frame shows the full name and the
share.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from pipeline.profiles.folded import KERNEL

WIDTH, ROW, MARGIN, HEAD = 1200.0, 17.0, 10.0, 34.0
"""Sizes in pixels; the head holds the title."""
FONT, LETTER = 11.0, 6.7
"""Height of the letters, and width of one: all are equally wide."""
NARROWEST = 0.2
"""Pixels below which a frame is left out: nobody could see or point at it."""
LEAST_FULL = 0.01
"""Smallest change of an operation's cost that is drawn in full colour; smaller ones are paler."""
SHORTEST = 3
"""Letters below which a name is not written into its frame."""


@dataclass
class _Frame:
    """A function called from one place: how often it was sampled, and what it called.

    ``before`` is the frame's share of the profile to compare with; 0 without such a profile.
    """

    name: str
    samples: int = 0
    before: float = 0.0
    calls: dict[str, _Frame] = field(default_factory=dict)

    def __iter__(self) -> Iterator[_Frame]:
        return iter(sorted(self.calls.values(), key=lambda frame: frame.name))

    @property
    def depth(self) -> int:
        return 1 + max((frame.depth for frame in self.calls.values()), default=0)


def flame_graph(stacks: Mapping[str, int], title: str) -> str:
    """Draw the flame graph of a CPU profile."""
    return _picture(_tree(stacks), title, lambda frame: _colour(frame.name), lambda _: "")


def difference_graph(
    before: Mapping[str, int], after: Mapping[str, int], title: str, cost: float = 1.0
) -> str:
    """Draw the flame graph of ``after``, coloured by the change of each frame since ``before``.

    Frames that cost more per operation than before are red, frames that cost less are blue; the
    larger the change, the stronger the colour. Changes are fractions of the cost of an operation in
    ``after``. ``cost`` is the cost of an operation in ``before``, relative to that in ``after``.
    """
    root = _tree(after)
    scale = cost / sum(before.values())
    for stack, samples in before.items():
        frame: _Frame | None = root
        root.before += samples * scale
        for name in stack.split(";"):
            # What is called no more has no width to be drawn with.
            frame = frame.calls.get(name) if frame is not None else None
            if frame is not None:
                frame.before += samples * scale

    def gain(frame: _Frame) -> float:
        return frame.samples / root.samples - frame.before

    most = max(LEAST_FULL, *(abs(gain(frame)) for frame in _below(root)))
    return _picture(
        root,
        title,
        lambda frame: _gained(gain(frame), most),
        lambda frame: f", {100.0 * gain(frame):+.2f} % of an operation",
    )


def _tree(stacks: Mapping[str, int]) -> _Frame:
    root = _Frame("all", sum(stacks.values()))
    for stack, samples in stacks.items():
        frame = root
        for name in stack.split(";"):
            frame = frame.calls.setdefault(name, _Frame(name))
            frame.samples += samples
    return root


def _below(frame: _Frame) -> Iterator[_Frame]:
    yield frame
    for call in frame:
        yield from _below(call)


def _picture(
    root: _Frame, title: str, colour: Callable[[_Frame], str], note: Callable[[_Frame], str]
) -> str:
    height = HEAD + root.depth * ROW + MARGIN
    total = max(root.samples, 1)
    scale = (WIDTH - 2 * MARGIN) / total

    def draw(frame: _Frame, x: float, y: float) -> Iterator[str]:
        width = frame.samples * scale
        if width < NARROWEST:
            return
        share = 100.0 * frame.samples / total
        samples = "1 sample" if frame.samples == 1 else f"{frame.samples} samples"
        letters = int((width - 4) / LETTER)
        name = frame.name if len(frame.name) <= letters else f"{frame.name[: letters - 2]}.."
        text = ""
        if letters >= SHORTEST:
            text = f'<text x="{x + 3:.1f}" y="{y + 12:.1f}">{escape(name)}</text>'
        yield (
            f"<g><title>{escape(frame.name)} ({samples}, {share:.2f} %{note(frame)})</title>"
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{ROW - 1:g}" rx="1" '
            f'fill="{colour(frame)}"/>{text}</g>'
        )
        for call in frame:
            yield from draw(call, x, y - ROW)
            x += call.samples * scale

    drawn = "\n".join(draw(root, MARGIN, height - MARGIN - ROW))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH:g}" height="{height:g}" '
        f'viewBox="0 0 {WIDTH:g} {height:g}" font-family="monospace" font-size="{FONT:g}">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n'
        f'<text x="{WIDTH / 2:g}" y="{HEAD - 14:g}" text-anchor="middle" font-size="14">'
        f"{escape(title)}</text>\n{drawn}\n</svg>\n"
    )


def _colour(name: str) -> str:
    """Return the colour of a function: warm for programs, cold for the kernel."""
    number = zlib.crc32(name.encode())
    first, hues = (190, 40) if name.endswith(KERNEL) else (5, 50)
    return f"hsl({first + number % hues},{60 + number % 23}%,{66 + number % 11}%)"


RED, BLUE = 0, 220
"""Hues of frames that take more than before, and of frames that take less."""


def _gained(gain: float, most: float) -> str:
    """Return the colour of a frame's change: red for more time, blue for less, white for none."""
    return f"hsl({RED if gain > 0 else BLUE},85%,{97 - round(42 * abs(gain) / most)}%)"
