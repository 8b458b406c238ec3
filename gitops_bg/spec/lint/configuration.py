"""A rule about the ConfigMaps and Secrets that a target refers to: their names. For `check` only.

What a target does not refer to is no part of a version, and gets no copy of its own.
"""

from collections.abc import Iterator, Mapping

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.lint.app_folder import AppFolder, name_of, near, note_rule
from gitops_bg.spec.manifests.references import CONFIG_MAP, SECRET, Named, references
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.scalars import Body, as_map, maps

_ENV = {"configMapKeyRef": (CONFIG_MAP, "name"), "secretKeyRef": (SECRET, "name")}
_ENV_FROM = {"configMapRef": (CONFIG_MAP, "name"), "secretRef": (SECRET, "name")}
_VOLUME = {"configMap": (CONFIG_MAP, "name"), "secret": (SECRET, "secretName")}
_SOURCE = {"configMap": (CONFIG_MAP, "name"), "secret": (SECRET, "name")}


def _near_miss(folder: AppFolder) -> Iterator[Problem]:
    objects = {(each.value["kind"], name_of(each)) for each in folder.of_kind(CONFIG_MAP, SECRET)}
    used = references(folder.template)
    for (kind, name), path in _uses(folder):
        if (kind, name) in objects or folder.target is None:
            continue
        other = SECRET if kind == CONFIG_MAP else CONFIG_MAP
        guess = near(name, (its for of, its in objects if of == kind and (of, its) not in used))
        if guess:
            message = f"the folder has no {kind} {name}, but one called {guess}, which nothing refers to"
            yield folder.target.problem(path, message, f"did you mean {guess}?")
        elif (other, name) in objects and (other, name) not in used:
            message = f"the folder has no {kind} {name}; its {name} is a {other}"
            yield folder.target.problem(path, message, f"refer to a {other}, or add the {kind}")


def _uses(folder: AppFolder) -> Iterator[tuple[Named, Path]]:
    """What the target refers to, each with the place of the name."""
    for each in folder.containers():
        for place, env in maps(each.body.get("env")):
            yield from _named(as_map(env.get("valueFrom")), (*each.path, "env", place, "valueFrom"), _ENV)
        for place, source in maps(each.body.get("envFrom")):
            yield from _named(source, (*each.path, "envFrom", place), _ENV_FROM)
    for place, volume in maps(folder.pod.get("volumes")):
        path = (*folder.pod_path, "volumes", place)
        yield from _named(volume, path, _VOLUME)
        for number, source in maps(as_map(volume.get("projected")).get("sources")):
            yield from _named(source, (*path, "projected", "sources", number), _SOURCE)


def _named(body: Body, path: Path, fields: Mapping[str, tuple[str, str]]) -> Iterator[tuple[Named, Path]]:
    for field, (kind, key) in fields.items():
        name = as_map(body.get(field)).get(key)
        if isinstance(name, str):
            yield (kind, name), (*path, field, key)


CONFIGURATION_RULES = (
    note_rule(
        "configuration-name", "The target refers to an object nearly as one of the folder is called.", _near_miss
    ),
)
