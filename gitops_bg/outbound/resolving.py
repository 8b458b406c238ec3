"""Where the name of a host leads, for libraries that resolve it by themselves. Loads no library itself."""

import socket

from gitops_bg.outbound.addresses import AddressRules


def refusal_of_host(rules: AddressRules, host: str) -> str:
    """Why a library that resolves a host by itself is not to be given it; empty where all its addresses are permitted.

    A host without any address has no refusal: the library says what is wrong.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return ""
    return next(filter(None, (rules.refusal(str(each[4][0])) for each in found)), "")
