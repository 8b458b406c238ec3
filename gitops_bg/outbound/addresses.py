"""Where calls that authors of files ask for may go: metrics, hooks, alerts. Pure; resolves no name.

An author of a template decides what the agent asks for, from inside the cluster and with its network: by default not
itself (loopback), not the node, and not the cloud's metadata, which hand out credentials. `check` applies the default
rules to the files.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA = tuple(
    map(ipaddress.ip_network, ("fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32", "168.63.129.16/32"))
)
"""Metadata of AWS and Google over IPv6, of Alibaba and of Azure; all others are link-local."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses that a gateway translates to the IPv4 address in their last 32 bits (RFC 6052)."""


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The rules of one agent. ``denied`` counts before ``allowed``, and that before what is refused by default."""

    allowed: tuple[Network, ...] = ()
    denied: tuple[Network, ...] = ()

    def refusal_of_literal(self, host: str) -> str:
        """Do as `refusal`, where a host is an address; a name is judged by where it leads, when it is connected to.

        >>> AddressRules().refusal_of_literal("127.0.0.1")[:9], AddressRules().refusal_of_literal("localhost")
        ('127.0.0.1', '')
        """
        return self.refusal(host) if is_address(host) else ""

    def refusal(self, text: str) -> str:
        """Return why no call may go to an address; empty where it may.

        >>> AddressRules().refusal("10.0.0.7")
        ''
        >>> AddressRules().refusal("169.254.169.254")
        '169.254.169.254 is link-local, as the metadata of clouds are: --allow-address 169.254.169.254 permits it'
        """
        address = _plain(ipaddress.ip_address(text.partition("%")[0]))
        if any(address in network for network in self.denied):
            return f"{address} is denied by --deny-address"
        if any(address in network for network in self.allowed):
            return ""
        kind = _kind(address)
        return f"{address} is {kind}: --allow-address {address} permits it" if kind else ""


ORDINARY = AddressRules()
"""The default of an agent."""
EVERYWHERE = AddressRules((ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0")))
"""No rule: for demos and tests, whose services are on this machine."""


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return the networks of texts such as ``10.0.0.0/8`` or ``10.0.0.7``. Raises ``ValueError``.

    >>> networks(["10.0.0.0/8", "::1"])
    (IPv4Network('10.0.0.0/8'), IPv6Network('::1/128'))
    """
    return tuple(map(ipaddress.ip_network, texts))


def is_address(host: str) -> bool:
    """Return whether a host is an address and no name.

    >>> is_address("10.0.0.7"), is_address("::1"), is_address("shop.example")
    (True, True, False)
    """
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _plain(address: Address) -> Address:
    """Return the IPv4 address that is meant by an IPv6 address around it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _kind(address: Address) -> str:
    if address.is_loopback or address.is_unspecified:
        return "this machine itself"
    if address.is_link_local:
        return "link-local, as the metadata of clouds are"
    if any(address in network for network in _METADATA):
        return "where a cloud has its metadata"
    return "no address of one machine" if address.is_multicast else ""


_NAMES = {"localhost": "127.0.0.1", "metadata.google.internal": "169.254.169.254"}
"""Names that lead to the same address everywhere."""
_FIELDS = ("url", "address")
_REMEDY = "call a Service by its name; if it is meant, the agent needs --allow-address"


def refused_addresses(document: Document) -> Iterator[Problem]:
    """Yield the fields of templates, hooks and alerts with an address that the agent refuses to call."""
    for path, text in _addresses(document.value, ()):
        if why := _refusal(text):
            yield document.problem(path, f"the agent refuses to call it: {why}", _REMEDY)


def _addresses(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key in _FIELDS and isinstance(each, str):
                yield (*path, key), each
            else:
                yield from _addresses(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _addresses(each, (*path, number))


def _refusal(text: str) -> str:
    """Return why no call may go there; empty where one may, or where it is known only later.

    >>> _refusal("http://169.254.169.254/latest"), _refusal("http://{{args.host}}/")
    ('169.254.169.254 is link-local, as the metadata of clouds are', '')
    """
    try:
        host = urlsplit(text).hostname or ""
    except ValueError:
        return ""
    name = host.rstrip(".")
    known = _NAMES.get("localhost" if name.endswith(".localhost") else name, host)
    return ORDINARY.refusal_of_literal(known).partition(": --allow-address")[0]
