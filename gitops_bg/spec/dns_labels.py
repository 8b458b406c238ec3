"""The names that Kubernetes accepts for namespaces and most objects: labels of RFC 1123. Pure.

https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
"""

import re

DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_DNS_LABEL = re.compile(DNS_LABEL)


def is_dns_label(name: str) -> bool:
    """Whether Kubernetes accepts ``name`` for a namespace; apps follow the same rule.

    >>> is_dns_label("web-2"), is_dns_label("Web"), is_dns_label("web_2"), is_dns_label("")
    (True, False, False, False)
    """
    return _DNS_LABEL.fullmatch(name) is not None
