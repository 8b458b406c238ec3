"""The grammar of image references, which registries and kubelets share. Reads nothing, contacts no registry.

https://github.com/distribution/reference (reference.go, normalize.go): ``[DOMAIN/]PATH[:TAG][@DIGEST]``.
"""

import re

EXAMPLE = "registry.example.com/shop/web:1.4.2"

_PART = r"[a-z0-9]+(?:(?:[_.]|__|-+)[a-z0-9]+)*"
_PATH = re.compile(f"{_PART}(?:/{_PART})*")
_HOST_PART = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = re.compile(rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}")
_DIGEST = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}")
_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_LONGEST_NAME = 255


def trouble_with(image: str) -> str:
    """Why ``image`` is no valid image reference, as a sentence about it; empty where it is valid.

    >>> trouble_with("web:1.4.2"), trouble_with("localhost:5000/shop/web@sha256:" + "0" * 64)
    ('', '')
    >>> trouble_with("Shop/web:1")
    "the name 'Shop/web' may have lower-case letters, digits and single separators (. _ __ -) only: 'shop/web'?"
    """
    rest, at, digest = image.partition("@")
    name, tag = _name_and_tag(rest)
    path = _without_domain(name)
    if at and not _is_digest(digest):
        return f"the digest {digest!r} is none: sha256: and 64 hexadecimal digits"
    if tag is not None and not _TAG.fullmatch(tag):
        return f"the tag {tag!r} may have letters, digits, '_', '.' and '-', up to 128, and begins with none of '.-'"
    if path is None:
        return f"the registry {name.partition('/')[0]!r} is no host name"
    if not _PATH.fullmatch(path):
        return _about_path(name, path)
    if len(name) > _LONGEST_NAME:
        return f"the name has {len(name)} characters; {_LONGEST_NAME} are the most"
    return "a name of 64 hexadecimal digits is the id of an image" if re.fullmatch("[0-9a-f]{64}", name) else ""


def _name_and_tag(text: str) -> tuple[str, str | None]:
    """Split name and tag. A colon begins a tag unless a slash follows it; then it begins a registry's port."""
    name, colon, tag = text.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (text, None)


def _without_domain(name: str) -> str | None:
    """The path without the registry; None where the registry is invalid."""
    first, slash, rest = name.partition("/")
    is_domain = slash and (any(sign in first for sign in ".:") or first == "localhost")
    if not is_domain:
        return name
    return rest if _DOMAIN.fullmatch(first) else None


def _is_digest(text: str) -> bool:
    algorithm, _, digits = text.partition(":")
    return _DIGEST.fullmatch(text) is not None and len(digits) == _LENGTHS.get(algorithm, len(digits))


def _about_path(name: str, path: str) -> str:
    if not path:
        return "it has no name"
    better = f": {name.lower()!r}?" if _PATH.fullmatch(path.lower()) else ""
    return f"the name {name!r} may have lower-case letters, digits and single separators (. _ __ -) only{better}"
