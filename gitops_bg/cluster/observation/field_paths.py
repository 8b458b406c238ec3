"""A place in a live object, what is there beside what is wanted, for people, and who wrote it. Pure.

Values below ``data`` and the like are shown nowhere, nor those of environment variables whose names are those of
secrets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.observation.drift import item_key
from gitops_bg.core.foreign_json import NotJson, read_json
from gitops_bg.core.foreign_text import HOLDERS, one_line
from gitops_bg.core.model.drift import FieldChange
from gitops_bg.core.names import FIELD_MANAGER
from gitops_bg.spec.manifests.differences import Difference, Marks, field_of, looks_secret, without_secrets

_LONGEST_NAME, _LONGEST_TEXT = 60, 240


@dataclass(frozen=True, slots=True)
class ListItem:
    """A step to an item of a list, by the keys that it is merged by."""

    keys: tuple[str, ...]
    item: Mapping[str, Any]

    def __str__(self) -> str:
        return "/".join(str(self.item[key]) for key in self.keys if self.item.get(key) is not None)


Path = tuple[str | ListItem, ...]


@dataclass(frozen=True, slots=True)
class ChangedField:
    """One place where a live object differs; None: nothing is there."""

    path: Path
    found: Any
    wanted: Any

    @property
    def field(self) -> str:
        """The path in words."""
        text = ""
        for step in self.path:
            text = f"{text}[{step}]" if isinstance(step, ListItem) else field_of(text, step)
        return text

    @property
    def change(self) -> FieldChange:
        """The difference as it is shown."""
        field = one_line(self.field)
        if str(self.path[0]).lower() in HOLDERS:
            return FieldChange(field, field)
        of_secret = any(isinstance(step, ListItem) and looks_secret(str(step)) for step in self.path)
        if of_secret and self.path[-1] == "value":
            return FieldChange(field, field)
        text = one_line(Difference(field, *map(_present, (self.found, self.wanted))).sentence)
        return FieldChange(field, text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…")


def _present(side: Any) -> Any:
    """A side as it is shown; None where nothing is there, as Kubernetes drops what is empty."""
    return None if side in ("", {}, []) else without_secrets(side, Marks())


def is_ours(live: Object, field: ChangedField) -> bool:
    """Whether what was found in a field is the agent's own doing: it manages all of it. Whoever changes a value takes
    it from all who managed it; who only says the same, or said it before, manages it beside others.

    >>> fields = {"f:spec": {"f:selector": {"f:app": {}}}}
    >>> live = {"metadata": {"managedFields": [{"manager": FIELD_MANAGER, "fieldsV1": fields}]}}
    >>> is_ours(live, ChangedField(("spec", "selector"), {"app": "web"}, {}))
    True
    >>> is_ours(live, ChangedField(("spec", "selector"), {"app": "web", "tier": "x"}, {}))
    False
    """
    entries = live["metadata"].get("managedFields") or ()
    ours = [each.get("fieldsV1") for each in entries if each.get("manager") == FIELD_MANAGER]
    return field.found is not None and any(_has_all(fields, field.path, field.found) for fields in ours)


def _has_all(fields: Any, path: Sequence[str | ListItem], found: Any) -> bool:
    """Whether a set of fields has all of what is at a path."""
    if not isinstance(fields, Mapping):
        return False
    if fields == {}:
        return True
    if path:
        return any(_has_all(below, path[1:], found) for key, below in fields.items() if _is_step(key, path[0]))
    return isinstance(found, Mapping) and all(_has_all(fields.get(f"f:{key}"), (), found[key]) for key in found)


def managers_of(live: Object, path: Path) -> tuple[str, ...]:
    """The other field managers that own a place of a live object, or something below it; of several, who wrote last.

    https://kubernetes.io/docs/reference/using-api/server-side-apply/#managedfields

    >>> fields = {"f:spec": {"f:selector": {}}}
    >>> live = {"metadata": {"managedFields": [{"manager": "kubectl-edit", "fieldsV1": fields}]}}
    >>> managers_of(live, ("spec", "selector")), managers_of(live, ("spec", "ports"))
    (('kubectl-edit',), ())
    """
    entries = live["metadata"].get("managedFields") or ()
    others = [each for each in entries if each.get("manager") not in (None, "", FIELD_MANAGER)]
    owners = [each for each in others if _owns(each.get("fieldsV1"), path)]
    last = max((str(each.get("time")) for each in owners), default="")
    return tuple(
        sorted({one_line(each["manager"])[:_LONGEST_NAME] for each in owners if str(each.get("time")) == last})
    )


def _owns(fields: Any, path: Sequence[str | ListItem]) -> bool:
    """Whether a set of fields has something at a path, or the whole of what is above it."""
    if not path:
        return True
    if not isinstance(fields, Mapping) or not fields:
        return fields == {}
    return any(_owns(below, path[1:]) for key, below in fields.items() if _is_step(key, path[0]))


def _is_step(key: str, step: str | ListItem) -> bool:
    """Whether a key in a set of fields is this step."""
    if isinstance(step, str):
        return key == f"f:{step}"
    said = item_in(key)
    return bool(said) and item_key(said, step.keys) == item_key(step.item, step.keys)


def item_in(key: str) -> Mapping[str, Any]:
    """What a step in a set of fields says of an item of a list; nothing where it is another step."""
    try:
        said = read_json(key[2:]) if key.startswith("k:") else None
    except NotJson:
        return {}
    return said if isinstance(said, dict) else {}
