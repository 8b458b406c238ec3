"""What keeps a target from being live, and what a person can do: it went back alone, a pin holds it back, or its pods
do not start, in the words of the scheduler or the kubelet.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from gitops_bg.core.checks.git import why_not_back
from gitops_bg.core.checks.pods import remedy_for
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.holds import can_roll_back_to
from gitops_bg.core.foreign_json import tag_of
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, ConfigurationRef, Snapshot, version_name
from gitops_bg.core.names import configuration_name
from gitops_bg.core.world import World
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.views.app import Pod


@dataclass(frozen=True, slots=True)
class NotLive:
    """A target that went back without live traffic, or that is not run."""

    reason: str
    advice: str

    def __str__(self) -> str:
        return self.reason


def went_back(world: World) -> NotLive | None:
    """Return why, if main's target went back to a version that served before the live one and traffic does not follow
    it, and what makes it follow.

    A target that stays where it was while live traffic went back has not gone back: its hold says what there is to say.
    """
    why, back, live = why_not_back(world), world.record.version(world.target_digest), world.active
    if not why or back is None or live is None or not world.record.came_before(back.digest, live.digest):
        return None
    names = back.name, live.name
    reason = f"the target went back to {names[0]}, live traffic stays with {names[1]}: {why}"
    if not can_roll_back_to(world.record, back, by_name=True):
        again = f"if it is good all the same, to try it through every gate: gitops-bg retry {world.spec.app}"
        return NotLive(reason, again)
    brought = live.source.commit[:10]
    later = f"; next time `git revert {brought}` goes back at once" if brought else ""
    return NotLive(reason, f"to go back now: gitops-bg rollback {world.spec.app} --to {back.number}{later}")


def held_back(config: AppConfig, record: Record) -> NotLive | None:
    """Return what the pin holds back, and how it comes to run; None where the target is run."""
    waiting, revision = config.held_back, config.spec.revision if config.spec else None
    if waiting is None or revision is None:
        return None
    digest = waiting.snapshot.digest
    known = record.version(digest)
    target = version_name(known.number if known else None, digest, tag_of(waiting.snapshot.text))
    reason = f"{config.target_file} says {target}, and spec.revision runs {revision} instead"
    return NotLive(reason, f"to run what it says: remove revision from {config.folder}/{APP_FILE}")


_MOUNTING = ("ContainerCreating", "PodInitializing")
"""The reason of a pod whose volumes are missing; only its Events name the cause."""
_ON_THE_WAY = (*_MOUNTING, "Pending", "Running")
_KINDS = {"configmap": "ConfigMap", "secret": "Secret"}
_NO_OBJECT = re.compile(r'(configmap|secret) "([^"]+)" not found')
_NO_KEY = re.compile(r"couldn't find key (\S+) in (ConfigMap|Secret) [^/]+/(\S+)")
_NO_FILE = re.compile(r"references non-existent (config|secret) key: (\S+)")
_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")

Copies = Mapping[str, ConfigurationRef]
"""The version's ConfigMaps and Secrets, by the names of their copies, which the pods use."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What keeps pods from starting: the same for all of ``pods``, names. ``advice`` is empty where we have none."""

    reason: str
    message: str
    pods: tuple[str, ...]
    advice: str

    def __str__(self) -> str:
        number = f"{len(self.pods)} pod{'s' if len(self.pods) > 1 else ''}"
        said = f"{self.reason}: {self.message}" if self.message else self.reason
        return f"{number}: {said}"


@dataclass(frozen=True, slots=True)
class _About:
    """The app, its folder in Git, and the copies that its pods use."""

    app: AppKey
    folder: str
    copies: Copies


def waits_for_volumes(pod: Pod) -> bool:
    """Return whether only the Events of a pod can say why it waits."""
    return not pod.message and pod.phase in _MOUNTING


def troubles_with(
    app: AppKey, snapshot: Snapshot, folder: str, pods: Iterable[Pod], unmounted: Mapping[str, str]
) -> tuple[Trouble, ...]:
    """Return what keeps these pods of a version from starting; one that is merely starting has no trouble.

    ``folder`` is the app's in Git, named in advice; ``unmounted`` has the volume that cannot be mounted, by pod.
    """
    about = _About(app, folder, {configuration_name(app, ref): ref for ref in snapshot.configuration})
    found = sorted((pod.phase, unmounted.get(pod.name, pod.message), pod.name) for pod in pods)
    return tuple(_grouped(about, (each for each in found if each[1] or each[0] not in _ON_THE_WAY)))


def _grouped(about: _About, found: Iterable[tuple[str, str, str]]) -> Iterator[Trouble]:
    for (reason, message), pods in groupby(found, key=lambda each: each[:2]):
        names = tuple(name for _, _, name in pods)
        yield Trouble(reason, message, names, _advice(about, reason, message, names[0]))


def _advice(about: _About, reason: str, message: str, pod: str) -> str:
    app, copies = about.app, about.copies
    if match := _NO_OBJECT.search(message):
        return _create(about, _KINDS[match[1]], match[2])
    if match := _NO_KEY.search(message):
        name = copies[match[3]].name if match[3] in copies else match[3]
        return f"give the {match[2]} {name} the key {match[1]}, or correct the reference in the target"
    if match := _NO_FILE.search(message):
        kind = "Secret" if match[1] == "secret" else "ConfigMap"
        return f"give the {kind} of that volume the key {match[2]}, or correct the reference in the target"
    if reason.removeprefix("Init:") in _IMAGE:
        return f"if the image is wrong: gitops-bg set-image {app} CONTAINER=IMAGE"
    if reason.removeprefix("Init:") == "CrashLoopBackOff":
        return f"kubectl --namespace {app.namespace} logs {pod} --previous"
    return remedy_for(message)


def _create(about: _About, kind: str, name: str) -> str:
    """Return the two ways to create a ConfigMap or Secret: as a part of the version, or for other apps also."""
    if name in about.copies:
        return f"it is the copy of {about.copies[name]}, which the agent makes: does it run, and may it?"
    verb = "configmap" if kind == "ConfigMap" else "secret generic"
    file = f"{about.folder}/{kind.lower()}-{name}.yaml"
    return f"commit the {kind} {name} as {file}, or: kubectl --namespace {about.app.namespace} create {verb} {name} …"
