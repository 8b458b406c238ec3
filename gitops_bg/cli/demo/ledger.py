"""Reads from Git, with plain `git log`, the switches in the ledger and the commits of main that asked for them."""

import re
from collections.abc import Iterator, Mapping

from gitops_bg.cli.demo.remote import Remote
from gitops_bg.cli.demo.scene import DemoCluster
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.events import MOVES
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import PRIMARY_FILE, Places

_FORM = "%H%x1f%(trailers:only,unfold)%x1e"
_IMAGE = re.compile(r"^\s*(?:- )?image: \S+:(\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One event of an app, from a commit of the state branch."""

    ledger: str
    """The commit of the state branch."""
    event: Event
    commit: str
    """The commit of main that asked for it; empty where none did."""
    from_digest: str
    to_digest: str


@dataclass(frozen=True, slots=True)
class Switched:
    """One move of live traffic. Versions are tags; ``came_from`` is empty for the first deployment."""

    line: LedgerLine
    came_from: str
    went_to: str


def events(remote: Remote, cluster: DemoCluster, app: AppKey) -> list[LedgerLine]:
    """Return all events of an app in the ledger, oldest first; empty where there is no ledger."""
    return [line for entry in remote.log(cluster.ledger, _FORM).split("\x1e") for line in _lines(entry.strip(), app)]


def switches(remote: Remote, cluster: DemoCluster, app: AppKey) -> list[Switched]:
    """Return the moves of live traffic among the events, each with the tags that main names at its commit."""
    moves = [each for each in events(remote, cluster, app) if each.event in MOVES]
    primary = Places(environment=cluster.environment).file(app, PRIMARY_FILE)
    tags = {each.to_digest: _tag(remote, each, primary) for each in moves}
    return [Switched(each, tags.get(each.from_digest, ""), tags[each.to_digest]) for each in moves]


def _lines(entry: str, app: AppKey) -> Iterator[LedgerLine]:
    commit, _, trailers = entry.partition("\x1f")
    for block in trailers.split("Bg-App: ")[1:]:
        name, *lines = block.splitlines()
        values = dict(line.split(": ", 1) for line in lines if ": " in line)
        if name == str(app):
            asked = values.get("Bg-Commit", "")
            yield LedgerLine(
                commit, Event(values["Bg-Event"]), asked, _digest(values, "Bg-From"), _digest(values, "Bg-To")
            )


def _digest(values: Mapping[str, str], trailer: str) -> str:
    return values.get(trailer, "").rpartition(" ")[2]


def _tag(remote: Remote, line: LedgerLine, path: str) -> str:
    """Return the tag in `primary.yaml` at the commit that asked; empty where it names another version than
    the ledger.
    """
    primary = remote.text(line.commit, path)
    found = _IMAGE.search(primary)
    return found[1] if found and line.to_digest in primary else ""
