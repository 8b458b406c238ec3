"""Objects that are small as they are stored, and gigabytes unpacked."""

from __future__ import annotations

import hashlib
import struct
import zlib
from itertools import count
from pathlib import Path

MEBIBYTE = 1024 * 1024
LARGE = 3 * 1024
"""MiB of what takes a minute to unpack, and no memory has room for."""
_PIECE = 16 * MEBIBYTE
_NUMBERS = count(0xB0B)
_COPY_PIECE = b"\xf0\xff\xff\xff"
"""The instruction of a delta that copies the first 16 MiB less one byte of its base."""


def loose(objects: Path, kind: str, beginning: bytes = b"", mebibytes: int = LARGE) -> bytes:
    """Store an object that begins like this and goes on with zeros; returns its id.

    The id of a blob is made up: nobody gets as far as to compute it.
    """
    pieces = mebibytes * MEBIBYTE // _PIECE
    packer = zlib.compressobj(9)
    head = b"%s %d\0" % (kind.encode(), len(beginning) + pieces * _PIECE)
    stream = packer.compress(head + beginning) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = zlib.adler32(head + beginning)
    piece = packer.compress(bytes(_PIECE)) + packer.flush(zlib.Z_FULL_FLUSH)
    name = f"{next(_NUMBERS):040x}"
    if kind != "blob":
        digest = hashlib.sha1(head + beginning)
        for _ in range(pieces):
            digest.update(bytes(_PIECE))
            checksum = zlib.adler32(bytes(_PIECE), checksum)
        name = digest.hexdigest()
    (objects / name[:2]).mkdir(exist_ok=True)
    (objects / name[:2] / name[2:]).write_bytes(stream + pieces * piece + b"\3\0" + struct.pack(">I", checksum))
    return name.encode()


def delta_pack(base: bytes, mebibytes: int = LARGE) -> bytes:
    """A pack whose second object is a delta of a first one of 16 MiB, ``base``, and copies it many times over."""
    assert len(base) == _PIECE
    copies = mebibytes * MEBIBYTE // _PIECE
    size = copies * (_PIECE - 1)
    delta = _varint(len(base)) + _varint(size) + copies * _COPY_PIECE
    first = _entry_head(3, len(base)) + zlib.compress(base)
    second = _entry_head(6, len(delta)) + _offset(len(first)) + zlib.compress(delta)
    pack = b"PACK" + struct.pack(">II", 2, 2) + first + second
    return pack + hashlib.sha1(pack).digest()


def _varint(number: int) -> bytes:
    found = b""
    while number >= 0x80:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def _entry_head(kind: int, size: int) -> bytes:
    first, rest = (kind << 4) | (size & 15), size >> 4
    return bytes([first | 0x80]) + _varint(rest) if rest else bytes([first])


def _offset(distance: int) -> bytes:
    found = bytes([distance & 0x7F])
    while distance := distance >> 7:
        distance -= 1
        found = bytes([distance & 0x7F | 0x80]) + found
    return found
