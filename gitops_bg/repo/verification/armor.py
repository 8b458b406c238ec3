"""What is inside of an armored signature: one signature packet and nothing else, or it is not shown to gpg. Pure.

Gpg unpacks whatever it is given: some kilobytes of compressed data, which anybody can push, become gigabytes.
"""

import base64
import binascii

from gitops_bg.repo.git.output import lines

BEGIN = b"-----BEGIN PGP SIGNATURE-----"
_END = b"-----END PGP SIGNATURE-----"
_BLANK = b" \t\r"
_SIGNATURE = 2
"""The tag of a signature packet (RFC 4880 §4.3)."""
_CHECKSUM = 5
"""The length of an armor's checksum, with its ``=``."""


def packet_in(armored: bytes) -> bytes | None:
    """Return the one signature packet of an armor; None where anything else is in it, before it, or after it.

    >>> packet_in(BEGIN + b"\\n\\nwgFh\\n=AAAA\\n" + _END)
    b'\\xc2\\x01a'
    >>> packet_in(BEGIN + b"\\n\\nyAFh\\n" + _END)
    """
    written = [line.rstrip(_BLANK) for line in lines(armored.rstrip(_BLANK + b"\n"))]
    if len(written) < 3 or written[0] != BEGIN or written[-1] != _END or b"" not in written:
        return None
    blank = written.index(b"")
    if not all(b": " in line or line.endswith(b":") for line in written[1:blank]):
        return None
    data = written[blank + 1 : -1]
    if data and len(data[-1]) == _CHECKSUM and data[-1].startswith(b"="):
        data.pop()
    try:
        packet = base64.b64decode(b"".join(data), validate=True)
    except (binascii.Error, ValueError):
        return None
    return packet if _is_one_signature(packet) else None


def _is_one_signature(data: bytes) -> bool:
    """Whether bytes are one signature packet that says how long it is, and is that long (RFC 4880 §4.2).

    >>> _is_one_signature(b"\\x88\\x01a")
    True
    >>> _is_one_signature(b"\\x8ba")  # as long as the data are
    False
    >>> _is_one_signature(b"\\xc2\\xe0a")  # in parts
    False
    """
    if len(data) < 2 or not data[0] & 0x80:
        return False
    if data[0] & 0x40:
        tag, first = data[0] & 0x3F, data[1]
        if first < 192:
            start, length = 2, first
        elif first < 224 and len(data) > 2:
            start, length = 3, ((first - 192) << 8) + data[2] + 192
        elif first == 255:
            start, length = 6, int.from_bytes(data[2:6], "big")
        else:
            return False
    else:
        tag, width = data[0] >> 2 & 0xF, (1, 2, 4, 0)[data[0] & 3]
        start, length = 1 + width, int.from_bytes(data[1 : 1 + width], "big")
        if not width:
            return False
    return tag == _SIGNATURE and len(data) == start + length
