"""ConfigMaps and Secrets: how the API server reads them, and what it refuses (422). It must know no pod.

Rules: kubernetes `pkg/apis/core/validation/validation.go` (ValidateConfigMap, ValidateSecret and their updates),
`pkg/apis/core/v1/conversion.go` (stringData), apimachinery `pkg/util/validation` (IsConfigMapKey).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator

from gitops_bg.sandbox.http.errors import cause, required, wrong
from gitops_bg.sandbox.objects.objects import Manifest, dig

Causes = Iterator[Manifest]

LARGEST_BYTES = 1024 * 1024
"""`core.MaxSecretSize`: the values of one object together, decoded; the keys do not count."""

_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_REDACTED = "<secret contents redacted>"
_TYPE_ACCOUNT = "kubernetes.io/service-account-token"
_ACCOUNT = "kubernetes.io/service-account.name"
_NEEDS_ALL = {
    "kubernetes.io/ssh-auth": (("ssh-privatekey",), "data[%s]"),  # the percent sign is the server's own slip
    "kubernetes.io/tls": (("tls.crt", "tls.key"), "data"),
}
_NEEDS_ONE = {"kubernetes.io/basic-auth": (("username", "password"), "data[%s]")}
_NEEDS_JSON = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


# --- as the server reads them ---


def fill_in_config_map(config_map: Manifest) -> None:
    """Bring the maps into the form in which the server keeps them."""
    _keep_text(config_map, "data")
    _keep_bytes(config_map, "binaryData")


def fill_in_secret(secret: Manifest) -> None:
    """Bring the maps into the server's form: `stringData` overwrites `data` and is dropped; the default
    type is Opaque.
    """
    if not secret.get("type"):
        secret["type"] = "Opaque"
    plain = secret.pop("stringData", None) or {}
    for key, value in plain.items():
        secret.setdefault("data", {})[key] = base64.b64encode((value or "").encode()).decode()
    _keep_bytes(secret, "data")


def _keep_text(obj: Manifest, field: str) -> None:
    """Treat a null as the empty text and an empty map as none, as Go does."""
    held = obj.pop(field, None)
    if held:
        obj[field] = {key: value or "" for key, value in held.items()}


def _keep_bytes(obj: Manifest, field: str) -> None:
    """Normalise base64 to the form that Go writes."""
    _keep_text(obj, field)
    for key, value in obj.get(field, {}).items():
        obj[field][key] = base64.b64encode(base64.b64decode(value)).decode()


def illegal_byte(text: str) -> int | None:
    """Return the position at which base64 becomes invalid, by Go's count (`base64.CorruptInputError`); None for valid
    text.
    """
    signs = [(place, sign) for place, sign in enumerate(text) if sign not in "\r\n"]
    body = [each for each in signs if each[1] != "="]
    for place, sign in signs:
        if not (sign == "=" or (sign.isascii() and (sign.isalnum() or sign in "+/"))):
            return place
    try:
        base64.b64decode("".join(sign for _, sign in signs), validate=True)
    except binascii.Error:
        start = len(body) // 4 * 4
        return signs[start][0] if len(signs) > start else len(text)
    return None


# --- what is refused ---


def config_map_causes(obj: Manifest, old: Manifest | None) -> Causes:
    """Yield what is wrong with a ConfigMap that replaces `old`; None for a new one."""
    yield from _immutable(obj, old, ("data", "binaryData"))
    text, binary = obj.get("data", {}), obj.get("binaryData", {})
    for key in text:
        yield from _key("data", key)
        if key in binary:
            yield wrong(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from _key("binaryData", key)
    if sum(len(value.encode()) for value in text.values()) + _decoded_size(binary) > LARGEST_BYTES:
        yield _too_long("[]")


def secret_causes(obj: Manifest, old: Manifest | None) -> Causes:
    """Yield what is wrong with a Secret that replaces `old`; None for a new one."""
    if old is not None and obj["type"] != old.get("type"):
        yield wrong("type", obj["type"], "field is immutable")
    yield from _immutable(obj, old, ("data",))
    data = obj.get("data", {})
    for key in data:
        yield from _key("data", key)
    if _decoded_size(data) > LARGEST_BYTES:
        yield _too_long("data")
    yield from _type_needs(obj, data)


def _immutable(obj: Manifest, old: Manifest | None, fields: tuple[str, ...]) -> Causes:
    if old is None or not old.get("immutable"):
        return
    changed = [] if obj.get("immutable") else ["immutable"]
    changed += [field for field in fields if obj.get(field) != old.get(field)]
    for field in changed:
        yield cause(field, "Forbidden: field is immutable when `immutable` is set", "FieldValueForbidden")


def _key(field: str, key: str) -> Causes:
    at = f"{field}[{key}]"
    if len(key) > 253:
        yield wrong(at, key, "must be no more than 253 characters")
    if not _KEY.fullmatch(key):
        yield wrong(at, key, _KEY_TEXT)
    if key in (".", ".."):
        yield wrong(at, key, f"must not be '{key}'")
    elif key.startswith(".."):
        yield wrong(at, key, "must not start with '..'")


def _decoded_size(data: Manifest) -> int:
    return sum(len(base64.b64decode(value)) for value in data.values())


def _too_long(field: str) -> Manifest:
    return cause(field, f"Too long: may not be more than {LARGEST_BYTES} bytes", "FieldValueTooLong")


def _type_needs(secret: Manifest, data: Manifest) -> Causes:
    """Return the keys that the built-in types of Secrets require."""
    wanted, field = _NEEDS_ALL.get(secret["type"], ((), ""))
    yield from (required(f"{field}[{key}]") for key in wanted if _is_missing(secret["type"], data, key))
    wanted, field = _NEEDS_ONE.get(secret["type"], ((), ""))
    if not any(key in data for key in wanted):
        yield from (required(f"{field}[{key}]") for key in wanted)
    if secret["type"] in _NEEDS_JSON:
        yield from _json(data, _NEEDS_JSON[secret["type"]])
    if secret["type"] == _TYPE_ACCOUNT and not dig(secret, ("metadata", "annotations", _ACCOUNT)):
        yield required(f"metadata.annotations[{_ACCOUNT}]")


def _is_missing(kind: str, data: Manifest, key: str) -> bool:
    """Return whether a key is missing: an empty private key is, an empty certificate is not."""
    return key not in data or (kind == "kubernetes.io/ssh-auth" and not data[key])


def _json(data: Manifest, key: str) -> Causes:
    if key not in data:
        yield required(f"data[{key}]")
        return
    try:
        json.loads(base64.b64decode(data[key]))
    except ValueError as error:
        yield wrong(f"data[{key}]", _REDACTED, str(error))
