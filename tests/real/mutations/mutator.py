"""Seeded mutations of bytes, JSON, text and bundles, as bad disks and bad people make them."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import re
import tarfile
from collections.abc import Callable, MutableMapping, MutableSequence
from typing import Any

import zstandard

_RAW = "raw:"
"""Marks a text that is written into JSON as it is, as the number 1e400."""

HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    2**70,
    -(2**70),
    0.1,
    1e308,
    f"{_RAW}1e400",
    f"{_RAW}-1e400",
    f"{_RAW}NaN",
    f"{_RAW}Infinity",
    f"{_RAW}{'9' * 5000}",
    f"{_RAW}{'[' * 3000}{']' * 3000}",
    f"{_RAW}" + '{"a":' * 3000 + "1" + "}" * 3000,
    f'{_RAW}"\\ud800"',
    f'{_RAW}"\\u0000"',
    "",
    "x" * 10_000,
    "../../../etc/passwd",
    "/",
    "\n",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "2026-02-30T00:00:00Z",
    [],
    {},
    [[]],
    {"": None},
)

_WORDS = (b"nan", b"-1", b"1e999", b"9" * 400, b"0", b"", b"\xff", b"\x00", b"inf", b"\n", b"1e308")
_TOML_NAMES = (b"x", b"", b'"\\uD800"', b".".join([b"a"] * 3000), b'""', b"paths.results")
_TOML_VALUES = (
    b"1e400",
    b"nan",
    b"-1",
    b"9" * 400,
    b"9223372036854775808",
    b"true",
    b"[]",
    b"{}",
    b'""',
    b'"x"',
    b'"../../.."',
    b'"\\u0000"',
    b'"""',
    b"1979-05-27T07:32:00Z",
    b"[" * 3000 + b"]" * 3000,
    b"{a=" * 3000 + b"1" + b"}" * 3000,
    b'"' + b"x" * 10_000 + b'"',
    b'["a", 1, [2.0]]',
    b'"99999999999999999999h"',
    b'"1e9 EUR"',
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")

Members = list[tuple[tarfile.TarInfo, bytes]]


class Mutator:
    """Mutates data by a seeded source of chance."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def raw(self, data: bytes) -> bytes:
        """Change some bytes: flip, cut, insert, repeat or overwrite."""
        changed = bytearray(data)
        for _ in range(self._random.choice((1, 1, 1, 2, 5))):
            place = self._random.randrange(len(changed) + 1)
            length = self._random.choice((1, 1, 4, 64, 4096))
            match self._random.randrange(6):
                case 0 if place < len(changed):
                    changed[place] ^= 1 << self._random.randrange(8)
                case 1:
                    del changed[place:]
                case 2:
                    del changed[place : place + length]
                case 3:
                    changed[place:place] = self._random.randbytes(length)
                case 4:
                    changed[place:place] = changed[place : place + length]
                case _:
                    changed[place : place + length] = self._random.randbytes(length)
        return bytes(changed)

    def numbers(self, data: bytes) -> bytes:
        """Replace some numbers of a text by what is none, or by another one."""
        found = list(_NUMBER.finditer(data))
        if not found:
            return self.raw(data)
        for _ in range(self._random.choice((1, 1, 3))):
            one = self._random.choice(found)
            other = self._random.choice((*_WORDS, self._random.choice(found)[0]))
            data = data[: one.start()] + other + data[one.end() :]
            found = list(_NUMBER.finditer(data)) or found[:1]
        return data

    def tree(self, value: Any) -> Any:
        """Change some nodes of a JSON document."""
        changed = copy.deepcopy(value)
        for _ in range(self._random.choice((1, 1, 2))):
            nodes = _nodes(changed)
            if not nodes:
                return self._random.choice(HOSTILE)
            holder, key = self._random.choice(nodes)
            match self._random.randrange(8):
                case 0:
                    del holder[key]
                case 1 if isinstance(holder, MutableSequence):
                    holder.insert(key, copy.deepcopy(holder[key]))
                case 1:
                    holder["added"] = holder[key]
                case 2:
                    other, name = self._random.choice(nodes)
                    holder[key] = copy.deepcopy(other.get(name) if _maps(other) else None)
                case _:
                    holder[key] = self._random.choice(HOSTILE)
        return changed

    def text(self, data: bytes) -> bytes:
        """Change a JSON text, its numbers or its bytes."""
        match self._random.randrange(4):
            case 0:
                return self.raw(data)
            case 1:
                return self.numbers(data)
            case _:
                try:
                    return dumped(self.tree(json.loads(data)))
                except ValueError:
                    return self.raw(data)

    def lines(self, data: bytes) -> bytes:
        """Change a text of lines: some lines, or their order."""
        lines = data.splitlines(keepends=True)
        place = self._random.randrange(len(lines)) if lines else 0
        match self._random.randrange(6):
            case 0:
                return self.raw(data)
            case 1 if lines:
                del lines[place]
            case 2 if lines:
                lines.insert(self._random.randrange(len(lines)), lines[place])
            case 3:
                self._random.shuffle(lines)
            case _ if lines:
                lines[place] = self.text(lines[place].rstrip(b"\n")) + b"\n"
        return b"".join(lines)

    def toml(self, data: bytes) -> bytes:
        """Change a TOML text: a value, a name, or the place of a line."""
        lines = data.splitlines(keepends=True)
        place = self._random.randrange(len(lines))
        name, equals, _ = lines[place].partition(b"=")
        other = lines[self._random.randrange(len(lines))]
        match self._random.randrange(4):
            case 0:
                lines.insert(place, other)
            case 1 if equals:
                lines[place] = name + equals + other.partition(b"=")[2] + b"\n"
            case 2 if equals:
                lines[place] = self._random.choice(_TOML_NAMES) + equals + b" 1\n"
            case _:
                lines[place] = name + b"= " + self._random.choice(_TOML_VALUES) + b"\n"
        return b"".join(lines)

    def bundle(self, packed: bytes) -> bytes:
        """Change a bundle: its bytes, or its members with every checksum right afterwards."""
        if self._random.randrange(4) == 0:
            return self.raw(packed)
        members = unpacked(packed)
        place = self._random.randrange(len(members))
        info, data = members[place]
        match self._random.randrange(8):
            case 0:
                info.name = self._random.choice(
                    ("", "/etc/x", "../x", "x" * 300, members[0][0].name)
                )
            case 1:
                info.type = self._random.choice(
                    (tarfile.SYMTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE)
                )
            case 2:
                del members[place]
            case 3:
                members.insert(place, members[self._random.randrange(len(members))])
            case _:
                change: Callable[[bytes], bytes] = self.text
                if not info.name.endswith(".json"):
                    change = self._random.choice((self.raw, self.numbers, self.lines))
                if self._random.randrange(2):
                    place = 0
                    info, data = members[0]
                    change = self.text
                members[place] = (info, change(data))
        return repacked(members)

    def chance(self, most: int) -> int:
        """Return a number below ``most``."""
        return self._random.randrange(most)


def dumped(value: Any) -> bytes:
    """Write JSON with the raw texts of :data:`HOSTILE` in it."""
    text = json.dumps(value)
    return re.sub(
        rf'"{_RAW}((?:[^"\\]|\\.)*)"', lambda found: json.loads(f'"{found[1]}"'), text
    ).encode("utf-8", "surrogatepass")


def unpacked(packed: bytes) -> Members:
    """Return the members of a bundle."""
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        return [
            (info, handle.read() if (handle := archive.extractfile(info)) else b"")
            for info in archive
        ]


def repacked(members: Members) -> bytes:
    """Write members as a bundle whose checksums are right, where its manifest can be read."""
    if members and members[0][0].name == "manifest.json":
        try:
            head = json.loads(members[0][1])
            if isinstance(head.get("files"), dict):
                sums = {info.name: hashlib.sha256(data).hexdigest() for info, data in members[1:]}
                # Member by member, so that a mutation of the text elsewhere stays.
                old = json.dumps(head["files"])
                text = json.dumps(head).replace(old, json.dumps(sums))
                members = [(members[0][0], text.encode("utf-8", "surrogatepass")), *members[1:]]
        except (ValueError, RecursionError, AttributeError):
            pass
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in members:
            info.size = len(data) if info.type == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(data))
    return zstandard.ZstdCompressor(level=1, write_checksum=True).compress(plain.getvalue())


def _maps(value: Any) -> bool:
    return isinstance(value, MutableMapping)


def _nodes(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in a document, as a container and a key."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict):
            items: list[tuple[Any, Any]] = list(holder.items())
        elif isinstance(holder, list):
            items = list(enumerate(holder))
        else:
            continue
        found += [(holder, key) for key, _ in items]
        waiting += [each for _, each in items]
    return found
