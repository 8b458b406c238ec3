"""The content of a version's ConfigMaps and Secrets, from wherever it still exists. Reads only; shows nothing.

Main's files have it for the target and the primary; for other versions the sources are the commit that brought the
version, every primary.yaml that main ever had, and the copies that its pods read.
"""

from collections.abc import Callable, Iterator
from functools import partial

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.configuration_differences import Side
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.version import AppKey, ConfigurationRef, Snapshot, Source
from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.manifests.configuration import Configuration, find
from gitops_bg.spec.manifests.configuration_changes import ConfigurationChange, configuration_changes, configuration_in


def side_of(session: Session, facts: Facts, snapshot: Snapshot, commit: str = "") -> Side:
    """Return what a version refers to and its content; ``commit`` is the one that brought it, if that is known."""
    found: list[Configuration] = []
    places = _places(session, facts, snapshot, commit)
    while len(found) < len(snapshot.configuration) and (place := next(places, None)) is not None:
        lost = [ref for ref in snapshot.configuration if not find(found, ref)]
        found += [each for ref in lost if (each := place(ref))]
    return Side(snapshot.configuration, tuple(found))


def live_side(cluster: Cluster, app: AppKey, snapshot: Snapshot) -> Side:
    """Return the side of a version from its pods' copies alone, for callers without a repository."""
    copies = (live_copy(cluster, app, ref) for ref in snapshot.configuration)
    return Side(snapshot.configuration, tuple(each for each in copies if each))


def live_copy(cluster: Cluster, app: AppKey, ref: ConfigurationRef) -> Configuration | None:
    """Return the content of the copy; None where there is no copy, or where we may not read it."""
    try:
        return cluster.held(app, ref)
    except Refused:
        return None


def changes_to(before: Side, after: Side) -> tuple[ConfigurationChange, ...]:
    """Return the differences by object and key; by object alone if the content of one is lost."""
    lost = {(ref.kind, ref.name) for side in (before, after) for ref in side.refs if not find(side.contents, ref)}
    known = ([each for each in side.contents if _named(each.ref) not in lost] for side in (before, after))
    blurred = (
        ConfigurationChange(*named, whole="changed" if old and new else "added" if new else "removed")
        for named in lost
        if (old := before.of(*named)[0]) != (new := after.of(*named)[0])
    )
    return tuple(sorted((*configuration_changes(*known), *blurred), key=lambda each: (each.kind, each.name)))


def _named(ref: ConfigurationRef) -> tuple[str, str]:
    return ref.kind, ref.name


_Place = Callable[[ConfigurationRef], Configuration | None]


def _places(session: Session, facts: Facts, snapshot: Snapshot, commit: str) -> Iterator[_Place]:
    """Yield the places to look in, the cheapest first; each is opened only when it is reached."""
    yield partial(find, facts.config.configuration)
    if commit and session.repository.contains(commit):
        files = session.repository.files(facts.app, commit)
        folder = session.repository.places.folder(facts.app)
        yield partial(find, load_app(facts.app, files, lambda *_names: Source(""), folder=folder).configuration)
    content = session.repository.find_primary(facts.app, digest=snapshot.digest)
    yield partial(find, configuration_in(content or b"", facts.app))
    yield partial(live_copy, session.cluster, facts.app)
