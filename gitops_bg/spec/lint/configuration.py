"""Rules about the ConfigMaps and Secrets that a target refers to: their keys and names. For `check` only.

Never shows a value.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.validation import nearest
from gitops_bg.spec.lint.app_folder import AppFolder, name_of
from gitops_bg.spec.lint.finding import error, note
from gitops_bg.spec.lint.near_names import near
from gitops_bg.spec.manifests.references import CONFIG_MAP, SECRET, Named, references
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.values import Body, as_map, maps

_ENV = {"configMapKeyRef": CONFIG_MAP, "secretKeyRef": SECRET}
_ENV_FROM = {"configMapRef": CONFIG_MAP, "secretRef": SECRET}
_VOLUME = {"configMap": (CONFIG_MAP, "name"), "secret": (SECRET, "secretName")}
_SOURCE = {"configMap": (CONFIG_MAP, "name"), "secret": (SECRET, "name")}


@dataclass(frozen=True, slots=True)
class _Use:
    """A place of the target that refers to an object, and the keys that it needs of it."""

    named: Named
    path: Path
    """The place of the name."""
    keys: tuple[tuple[str, Path], ...] = ()
    optional: bool = False


def _missing_key(folder: AppFolder) -> Iterator[Problem]:
    there = {named: _keys(body) for named, body in _objects(folder).items()}
    for use in _uses(folder):
        for key, path in use.keys if not use.optional else ():
            known = there.get(use.named)
            if known is not None and key not in known and folder.target:
                guess = nearest(key, known)
                has = f"; it has {', '.join(sorted(known))}" if known and not guess else ""
                message = f"{' '.join(use.named)} has no key {key}, so no pod would start{has}"
                yield folder.target.problem(path, message, f"did you mean {guess}?" if guess else f"add {key} to it")


def _near_miss(folder: AppFolder) -> Iterator[Problem]:
    objects, used = _objects(folder), references(folder.template)
    for use in _uses(folder):
        kind, name = use.named
        if use.named in objects or folder.target is None:
            continue
        other = SECRET if kind == CONFIG_MAP else CONFIG_MAP
        guess = near(name, (its for of, its in objects if of == kind and (of, its) not in used))
        if guess:
            message = f"the folder has no {kind} {name}, but one called {guess}, which nothing refers to"
            yield folder.target.problem(use.path, message, f"did you mean {guess}?")
        elif (other, name) in objects and (other, name) not in used:
            message = f"the folder has no {kind} {name}; its {name} is a {other}"
            yield folder.target.problem(use.path, message, f"refer to a {other}, or add the {kind}")


def _objects(folder: AppFolder) -> dict[Named, Body]:
    return {(each.value["kind"], name_of(each)): each.value for each in folder.of_kind(CONFIG_MAP, SECRET)}


def _keys(body: Body) -> frozenset[str]:
    return frozenset(str(key) for field in ("data", "binaryData", "stringData") for key in as_map(body.get(field)))


def _uses(folder: AppFolder) -> Iterator[_Use]:
    for each in folder.containers():
        for place, env in maps(each.body.get("env")):
            for field, kind in _ENV.items():
                ref = as_map(as_map(env.get("valueFrom")).get(field))
                path = (*each.path, "env", place, "valueFrom", field)
                if isinstance(ref.get("name"), str):
                    keys = ((ref["key"], (*path, "key")),) if isinstance(ref.get("key"), str) else ()
                    yield _Use((kind, ref["name"]), (*path, "name"), keys, ref.get("optional") is True)
        for place, source in maps(each.body.get("envFrom")):
            for field, kind in _ENV_FROM.items():
                ref = as_map(source.get(field))
                if isinstance(ref.get("name"), str):
                    yield _Use((kind, ref["name"]), (*each.path, "envFrom", place, field, "name"))
    for place, volume in maps(folder.pod.get("volumes")):
        path = (*folder.pod_path, "volumes", place)
        yield from _in_volume(volume, path, _VOLUME)
        for number, source in maps(as_map(volume.get("projected")).get("sources")):
            yield from _in_volume(source, (*path, "projected", "sources", number), _SOURCE)


def _in_volume(volume: Body, path: Path, fields: Mapping[str, tuple[str, str]]) -> Iterator[_Use]:
    for field, (kind, name) in fields.items():
        ref = as_map(volume.get(field))
        if isinstance(ref.get(name), str):
            keys = tuple(
                (item["key"], (*path, field, "items", place, "key"))
                for place, item in maps(ref.get("items"))
                if isinstance(item.get("key"), str)
            )
            yield _Use((kind, ref[name]), (*path, field, name), keys, ref.get("optional") is True)


CONFIGURATION_RULES = (
    error("configuration-key", "The target needs a key that a ConfigMap or Secret of the folder lacks.", _missing_key),
    note("configuration-name", "The target refers to an object nearly as one of the folder is called.", _near_miss),
)
