"""Which armored signatures are shown to gpg: those that are one signature packet, however its length is written."""

from __future__ import annotations

import base64

import pytest

from gitops_bg.repo.verification.armor import packet_in

BEGIN, END = "-----BEGIN PGP SIGNATURE-----", "-----END PGP SIGNATURE-----"


def armor(packet: bytes, *, headers: str = "", after: str = "") -> bytes:
    data = base64.encodebytes(packet).decode()
    return f"{BEGIN}\n{headers}\n{data}{after}{END}\n".encode()


PACKETS = {
    "new, one byte": b"\xc2\x03abc",
    "new, two bytes": b"\xc2\xc0\x08" + bytes(200),
    "new, five bytes": b"\xc2\xff\x00\x00\x00\x03abc",
    "old, one byte": b"\x88\x03abc",
    "old, two bytes": b"\x89\x00\x03abc",
    "old, four bytes": b"\x8a\x00\x00\x00\x03abc",
}


@pytest.mark.parametrize("name", PACKETS)
def test_one_signature(name: str) -> None:
    packet = PACKETS[name]
    assert packet_in(armor(packet)) == packet
    assert packet_in(armor(packet, after="=AbCd\n")) == packet
    assert packet_in(armor(packet, headers="Version: GnuPG v2\nComment:\n")) == packet
    assert packet_in(armor(packet) + b"\n \n") == packet, "as a forge writes it"
    assert packet_in(armor(packet + b"x")) is None
    assert packet_in(armor(packet + packet)) is None
    assert packet_in(armor(packet[:-1])) is None


OTHERS = {
    "compressed data": b"\xc8\x03abc",
    "compressed data, old": b"\xa0\x03abc",
    "as long as there are data": b"\x8babc",
    "compressed data, as long as there are data": b"\xa3abc",
    "in parts": b"\xc2\xe1ab\x01c",
    "a message": b"\xcb\x03abc",
    "a marker before it": b"\xca\x03PGP\xc2\x03abc",
    "no packet": b"\x02\x03abc",
    "nothing": b"",
    "one byte": b"\xc2",
    "half of a length": b"\xc2\xff\x00",
    "half of a length, old": b"\x8a\x00",
    "a length of two bytes, with one": b"\xc2\xc0",
}


@pytest.mark.parametrize("name", OTHERS)
def test_anything_else(name: str) -> None:
    assert packet_in(armor(OTHERS[name])) is None


GOOD = armor(b"\x88\x03abc")
ARMORS = {
    "none": b"",
    "only the beginning": f"{BEGIN}\n".encode(),
    "without an end": GOOD.replace(END.encode(), b""),
    "something before it": b"hello\n" + GOOD,
    "something after it": GOOD + b"hello\n",
    "another one after it": GOOD + GOOD,
    "no empty line": GOOD.replace(b"\n\n", b"\n"),
    "no header": armor(b"\x88\x03abc", headers="hello\n"),
    "of something else": GOOD.replace(b"SIGNATURE", b"MESSAGE"),
    "no base64": GOOD.replace(b"\n\n", b"\n\n!"),
}


@pytest.mark.parametrize("name", ARMORS)
def test_an_armor_that_is_not_one(name: str) -> None:
    assert packet_in(ARMORS[name]) is None
