"""What the rules of `check` are made of: an app's folder as they look at it, and what they find there. Knows no rule in
particular.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import WorkloadKind
from gitops_bg.spec.app.layout import member_of
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.target import pod_paths, template_of, value_at
from gitops_bg.spec.manifests.traffic import service_fields
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Body, Path, as_map, maps

# --- names that differ by a slip of the finger ---


def near(name: str, known: Iterable[str]) -> str:
    """Return the known name nearest to ``name`` that a slip or two lie between; empty where there is none.

    >>> near("wbe", ["web", "api"]), near("web-preveiw", ["web-preview"]), near("web", ["web-preview", "db"])
    ('web', 'web-preview', '')
    """
    ranked = sorted((distance(name, each), each) for each in known if each != name)
    return ranked[0][1] if ranked and ranked[0][0] <= (1 if len(name) < 6 else 2) else ""


def distance(one: str, other: str) -> int:
    """Return how many letters are missing, too many, wrong, or swapped with their neighbour (optimal string alignment).

    >>> distance("web", "web"), distance("wbe", "web"), distance("settings", "setings"), distance("a", "xyz")
    (0, 1, 1, 3)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for y, letter in enumerate(one, 1):
        older, before, row = before, row, [y]
        for x, its in enumerate(other, 1):
            cost = min(before[x] + 1, row[x - 1] + 1, before[x - 1] + (letter != its))
            if y > 1 and x > 1 and letter == other[x - 2] and one[y - 2] == its:
                cost = min(cost, older[x - 2] + 1)
            row.append(cost)
    return row[-1]


# --- one folder: whatever its values are, reading them raises nothing ---
# Wrong types are the findings of others (`cluster.lint`); a rule passes over them.

INIT, MAIN = "initContainers", "containers"


@dataclass(frozen=True, slots=True)
class PlacedContainer:
    """One container of the target's template, and its place in the file."""

    document: Document
    path: Path
    body: Body
    group: str

    @property
    def name(self) -> str:
        """Its name, for messages."""
        return str(self.body.get("name", ""))

    @property
    def ends(self) -> bool:
        """Whether it runs before the others and ends: an init container that is no sidecar."""
        return self.group == INIT and self.body.get("restartPolicy") != "Always"

    def problem(self, path: Path, message: str, remedy: str = "", *, at_key: bool = False) -> Problem:
        """Return a problem with a field below the container."""
        return self.document.problem((*self.path, *path), message, remedy, at_key=at_key)


@dataclass(frozen=True, slots=True)
class AppFolder:
    """The documents of one folder. ``target`` is None where the file is missing or cannot be read."""

    config: AppConfig
    app: Document
    target: Document | None
    others: tuple[Document, ...] = ()
    """Kubernetes' own objects beside the target."""

    @property
    def is_daemon_set(self) -> bool:
        """Whether each version is a DaemonSet."""
        return self.target is not None and self.target.value.get("kind") == WorkloadKind.DAEMON_SET

    @property
    def template(self) -> Body:
        """The pod template; empty where there is none."""
        return as_map(template_of(self.target.value) if self.target else None)

    @property
    def pod(self) -> Body:
        """The spec of the pods."""
        return as_map(self.template.get("spec"))

    @property
    def pod_path(self) -> Path:
        """The place of `pod` in the target."""
        return pod_paths(self.target.value).spec if self.target else ()

    @property
    def blue_green(self) -> Body:
        """The strategy as written in app.yaml."""
        return as_map(value_at(self.app.value, ("spec", "strategy", "blueGreen")))

    def containers(self) -> Iterator[PlacedContainer]:
        """Yield every container of the template, init containers first."""
        if self.target:
            for group in (INIT, MAIN):
                for index, body in maps(self.pod.get(group)):
                    yield PlacedContainer(self.target, (*self.pod_path, group, index), body, group)

    def of_kind(self, *kinds: str) -> Iterator[Document]:
        """Return the documents of these kinds beside the target."""
        return (each for each in self.others if each.value.get("kind") in kinds)

    def services(self) -> Iterator[Document]:
        """Yield the manifests of the Services that app.yaml names, or that are live under such a name."""
        member = member_of(self.config.folder)
        named = {name for name, _, _ in self.named_services()}
        for each in self.of_kind("Service"):
            name = name_of(each)
            if (member.app.name if member and name == member.service else name) in named:
                yield each

    def named_services(self) -> list[tuple[str, Path, str]]:
        """Return the Services that app.yaml names, as `service_fields` has them."""
        return list(service_fields(self.config.spec.strategy, self.app.value)) if self.config.spec else []


def name_of(document: Document) -> str:
    """Return the name of an object; empty where it has none."""
    return str(as_map(document.value.get("metadata")).get("name", ""))


# --- a finding: a problem, the rule that found it, and how bad that is ---


class LintSeverity(StrEnum):
    """An error is refused, or can never work; a note is true, and probably not what its author meant."""

    ERROR = "error"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding. ``name`` never changes: people filter by it, and forges remember what was dismissed."""

    name: str
    severity: LintSeverity
    says: str
    """One sentence about all its findings."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `check` says."""

    rule: Rule
    problem: Problem


@dataclass(frozen=True, slots=True)
class FolderRule(Rule):
    """A rule about one app's folder, with the function that looks for it."""

    find: Callable[[AppFolder], Iterable[Problem]]


PROBLEM = Rule(
    "problem", LintSeverity.ERROR, "A file cannot be used as it is written; the last good state keeps serving."
)
FIELD = Rule("field", LintSeverity.ERROR, "Kubernetes has no such field, or the field is missing or of another type.")
STALE = Rule("stale-render", LintSeverity.ERROR, "A rendered file is not what it would be rendered to now.")
REFUSED_ADDRESS = Rule("refused-address", LintSeverity.NOTE, "An address that the agent refuses to call by default.")
NO_EFFECT = Rule(
    "no-effect", LintSeverity.NOTE, "Something written has no effect here, or comes from outside the folder."
)


def error(name: str, says: str, find: Callable[[AppFolder], Iterable[Problem]]) -> FolderRule:
    """Return a rule whose findings Kubernetes refuses, or can never run."""
    return FolderRule(name, LintSeverity.ERROR, says, find)


def note_rule(name: str, says: str, find: Callable[[AppFolder], Iterable[Problem]]) -> FolderRule:
    """Return a rule whose findings are valid."""
    return FolderRule(name, LintSeverity.NOTE, says, find)
