"""Apps by environments, as the ledgers in Git have them: which release is where, how far it is, and what the next one
waits for. Asks no cluster; each cell is as old as the last commit of the agents there.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gitops_bg.core.checks.policy_rules import length
from gitops_bg.core.checks.release_choice import NOTHING, Choice, Here, choose
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import After, Environment, Environments, Newer
from gitops_bg.core.environments.proven import (
    ClusterReport,
    EnvironmentInput,
    Former,
    KnownRelease,
    formers_of,
    named_in,
    newest_first,
    rule_of,
)
from gitops_bg.core.model.policy_rules import After as AfterRule
from gitops_bg.core.model.version import AppKey, ReleaseId
from gitops_bg.core.names import entry_branch
from gitops_bg.repo.ledger.ledger import ClusterLedger, report_of
from gitops_bg.repo.ledger.ledger_file import LedgerDocument
from gitops_bg.views.fleet import FleetRow, fleet_of

Placed = Callable[[ReleaseId], KnownRelease]
"""Returns a release with its place in main."""
HeldIn = Callable[[AppKey, str], Mapping[str, str] | str]
"""Returns the releases that main holds back of an app in an environment, by their digests, with why; or why nobody can
tell.
"""


@dataclass(frozen=True, slots=True)
class InMain:
    """What main and its branches say."""

    placed: Placed
    held_in: HeldIn
    """Asked only of an app of which something could come in."""
    offered: Mapping[tuple[str, AppKey], ReleaseId] = field(default_factory=dict)
    """The releases that branches ask for, by environment and app."""
    unclear: str = ""
    """Why nothing comes in anywhere; empty where it may."""
    asked: Callable[[AppKey, str], tuple[AfterRule, ...]] = lambda _app, _environment: ()
    """Returns what policies ask of releases of an app in an environment."""


@dataclass(frozen=True, slots=True)
class EnvironmentCell:
    """An app in one environment."""

    environment: str
    clusters: tuple[FleetRow, ...]
    """The clusters that know the app."""
    choice: Choice
    """What comes in next, and what it waits for."""
    formers: tuple[Former, ...] = ()
    """The environments before, and those that policies name, and what their ledgers say; empty for the first."""
    troubles: tuple[str, ...] = ()
    """What is amiss with the ledgers of its clusters."""
    offered: ReleaseId | None = None
    """The release that a branch asks for, which people are to merge."""

    @property
    def serves(self) -> tuple[ReleaseId, ...]:
        """The releases that serve in its clusters, each once."""
        active = (each.document.state.active for each in self.clusters)
        return tuple(dict.fromkeys(each.release for each in active if each is not None and each.release is not None))

    @property
    def coming(self) -> tuple[ReleaseId, ...]:
        """The releases that came in and do not serve yet."""
        waiting = (each.document.state.candidate for each in self.clusters)
        return tuple(dict.fromkeys(each.release for each in waiting if each is not None and each.release is not None))

    @property
    def held(self) -> tuple[ReleaseId, ...]:
        """The releases on hold in any of its clusters, as far as the ledger still knows of which each version was."""
        return tuple(dict.fromkeys(release for each in self.clusters for release in held_in(each.document)))

    @property
    def since(self) -> datetime | None:
        """Since when the release serves in all of its clusters."""
        return max((each.since for each in self.clusters if each.since), default=None)

    @property
    def proven(self) -> bool:
        """Whether the release that serves is proven in every cluster, for any time that is asked for."""
        states = [each.document.state for each in self.clusters]
        said = [{proof.release.digest for proof in state.proven} for state in states]
        return bool(said) and all(each.digest in proven for each in self.serves for proven in said)

    @property
    def text(self) -> str:
        """The cell in a few words: what serves, and what is on its way."""
        parts = [" and ".join(each.name for each in self.serves) or ("unclear" if self.troubles else "-")]
        parts += ["proven"] if self.proven and self.serves else []
        parts += [f"{each.name} on its way" for each in self.coming]
        parts += [f"{self.offered.name} to be merged"] if self.offered else []
        parts += [f"{each.name} on hold" for each in self.held if each not in self.serves]
        return ", ".join(parts)

    def json(self) -> dict[str, Any]:
        """Return the cell for programs."""
        return {
            "environment": self.environment,
            "clusters": [each.cluster for each in self.clusters],
            "serves": [_json(each) for each in self.serves],
            "since": _date(self.since),
            "proven": self.proven,
            "coming": [_json(each) for each in self.coming],
            "held": [_json(each) for each in self.held],
            "offered": _json(self.offered) if self.offered else None,
            "entersNow": _json(self.choice.release.id) if self.choice.release else None,
            "waits": self.choice.waits,
            "until": _date(self.choice.until),
            "troubles": list(self.troubles),
        }


@dataclass(frozen=True, slots=True)
class EnvironmentsRow:
    """An app in all environments that it passes, in order."""

    app: AppKey
    environments: Environments
    cells: tuple[EnvironmentCell, ...]

    def cell(self, environment: str) -> EnvironmentCell | None:
        """Return what it is in an environment; None where it is not there."""
        return next((each for each in self.cells if each.environment == environment), None)

    def json(self) -> dict[str, Any]:
        """Return the row for programs."""
        return {"app": str(self.app), "environments": [each.json() for each in self.cells]}


def environments_of(
    environments: Environments,
    ledgers: Sequence[ClusterLedger],
    folders: Mapping[AppKey, Collection[str]],
    main: InMain,
    namespace: str = "",
) -> list[EnvironmentsRow]:
    """Return a row for each app, with a cell for each environment that it has a folder for. ``folders`` are the names
    of the folders in those of apps.
    """
    rows = {(each.about, each.cluster): each for each in fleet_of(ledgers, namespace)}
    known = {each.cluster: each for each in ledgers}
    apps = sorted(app for app in folders if namespace in ("", app.namespace))
    return [
        EnvironmentsRow(
            app,
            environments,
            tuple(_cells(app, environments, frozenset(folders[app]), rows, known, main)),
        )
        for app in apps
        if environments.passed(folders[app])
    ]


def _cells(
    app: AppKey,
    environments: Environments,
    folders: frozenset[str],
    rows: Mapping[tuple[Any, str], FleetRow],
    ledgers: Mapping[str, ClusterLedger],
    main: InMain,
) -> Iterator[EnvironmentCell]:
    def report(cluster: str) -> ClusterReport:
        ledger, row = ledgers.get(cluster), rows.get((app, cluster))
        if ledger is None:
            return ClusterReport(cluster, trouble="its agent has written none yet, or somebody deleted its branch")
        document = row.document if row is not None else LedgerDocument()
        return report_of(cluster, document, ledger.written, ledger.trouble)

    for environment in environments.passed(folders):
        here = tuple(row for cluster in environment.clusters if (row := rows.get((app, cluster))))
        told = {cluster: ledgers[cluster].trouble for cluster in environment.clusters if cluster in ledgers}
        troubles = tuple(f"{cluster}: {said}" for cluster, said in told.items() if said)
        of_file, *asked = (
            formers_of(rule, environments, folders, report)
            for rule in (rule_of(environments, environment, folders), *main.asked(app, environment.name))
        )
        formers = (*of_file, *(former for each in asked for former in each)) if of_file else ()
        longest = max(
            (int(each.total_seconds()) for each in environments.thresholds(environment.name, folders)), default=0
        )
        choice = _choice(app, environment, formers, here, longest, main)
        offered = main.offered.get((environment.name, app)) if formers else None
        yield EnvironmentCell(
            environment.name, here, _awaiting(choice, offered, environment, app), formers, troubles, offered
        )


def _awaiting(choice: Choice, offered: ReleaseId | None, environment: Environment, app: AppKey) -> Choice:
    """Return a choice that says who is asked to let a release in."""
    if offered is None:
        return choice
    asked = f"{offered.name} comes in once somebody merges {entry_branch(environment.name, app)}"
    return replace(choice, waits=f"{asked}; {choice.waits}" if choice.waits else asked)


def _choice(
    app: AppKey,
    environment: Environment,
    formers: tuple[Former, ...],
    here: Sequence[FleetRow],
    longest: int,
    main: InMain,
) -> Choice:
    """Return what the environment would take in by the ledgers, which say what is there now, and by what main holds
    back.
    """
    states = [each.document.state for each in here]
    there = [each for state in states for each in (state.active, state.candidate) if each is not None]
    entered = newest_first(main.placed(each.release) for each in there if each.release is not None)
    held_here = tuple((release.digest, "it was left") for each in here for release in held_in(each.document))
    newer = (environment.after or After()).newer
    left = Here(held_here, _on_its_way(here, longest) if newer is Newer.WAIT else "")
    given = EnvironmentInput(
        environment.name,
        formers=formers,
        known=tuple(main.placed(release) for release in named_in(formers).values()),
        entered=entered[0] if entered else None,
        newer=newer,
        unclear=main.unclear,
    )
    choice = choose(given, left)
    if choice == NOTHING:
        return choice
    held = main.held_in(app, environment.name)
    told = replace(given, unclear=held) if isinstance(held, str) else replace(given, held=tuple(held.items()))
    return choose(told, left)


def _on_its_way(here: Sequence[FleetRow], longest: int) -> str:
    """Return what the release that came in last is to do before a newer one takes its place, by the ledgers."""
    for row in here:
        state = row.document.state
        coming, active = (each.release if each is not None else None for each in (state.candidate, state.active))
        if coming is not None:
            return f"{coming.name} serves in {row.cluster}, or is given up"
        proofs = (each.seconds for each in state.proven if active is not None and each.release.digest == active.digest)
        if active is not None and longest and max(proofs, default=-1) < longest:
            return f"{active.name} has served in {row.cluster} for {length(timedelta(seconds=longest))}"
    return ""


def held_in(document: LedgerDocument) -> Iterator[ReleaseId]:
    """Yield the releases of versions on hold, as far as the history of the file says of which each was."""
    held = {each.digest for each in document.state.holds}
    told = {each.entry.to_digest: each.entry.release for each in document.history}
    for digest in held:
        if (release := told.get(digest)) is not None:
            yield release


def releases_in(row: EnvironmentsRow) -> tuple[ReleaseId, ...]:
    """Return the releases of an app that any ledger names, the oldest first as far as their numbers say."""
    documents = [each.document for cell in row.cells for each in cell.clusters]
    found = dict[ReleaseId, None]()
    for document in documents:
        state = document.state
        found |= dict.fromkeys(each.release for each in state.proven)
        named = (each.release for each in (state.active, state.candidate) if each is not None)
        told = (each.entry.release for each in document.history)
        found |= dict.fromkeys(each for each in (*named, *told) if each is not None and each.commit)
    return tuple(sorted(each for each in found if each.number))


# --- where one thing is ---


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a release, or what it contains, is in one environment of an app."""

    app: AppKey
    environment: str
    state: str
    """In words: serves since …, on its way, on hold, not there yet, and what it waits for."""
    release: ReleaseId | None
    """The release that has it; None where none of those that the ledgers name has."""

    def json(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "app": str(self.app),
            "environment": self.environment,
            "state": self.state,
            "release": _json(self.release) if self.release else None,
        }


Has = Callable[[AppKey, ReleaseId, str], bool]
"""Whether a release has what is looked for; the last is the tag of its image, where that is known."""


def whereabouts(rows: Iterable[EnvironmentsRow], has: Has) -> Iterator[Whereabouts]:
    """Yield where what ``has`` tells is, for each environment of each app that has it anywhere."""
    for row in rows:
        found = {each.environment: tuple(_states(row.app, each, has)) for each in row.cells}
        if not any(found.values()):
            continue
        for cell in row.cells:
            states = found[cell.environment]
            if states:
                yield from (Whereabouts(row.app, cell.environment, said, release) for said, release in states)
            else:
                waits = cell.choice.waits or "nothing of it came in yet"
                yield Whereabouts(row.app, cell.environment, f"not there: {waits}", None)


def _states(app: AppKey, cell: EnvironmentCell, has: Has) -> Iterator[tuple[str, ReleaseId]]:
    seen = set[tuple[str, ReleaseId]]()
    for row in cell.clusters:
        state = row.document.state
        for version, said in ((state.active, "serves"), (state.candidate, "on its way")):
            if version is not None and version.release is not None and has(app, version.release, version.tag):
                since = f" since {version.since:%Y-%m-%d %H:%MZ}" if version.since and said == "serves" else ""
                told = (f"{said} in {row.cluster}{since}", version.release)
                if told not in seen:
                    seen.add(told)
                    yield told
        for release in held_in(row.document):
            if has(app, release, "") and (told := (f"on hold in {row.cluster}", release)) not in seen:
                seen.add(told)
                yield told


def _json(release: ReleaseId) -> dict[str, Any]:
    return {"release": release.name, "digest": release.digest, "commit": release.commit}


def _date(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat() if at else None
