"""All clusters of the repository as their ledgers in Git have them: what serves in each, and what waits there. Asks no
cluster; each line is as old as the last commit of its agent.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.version import AppOrGroup, version_name
from gitops_bg.repo.ledger.ledger import ClusterLedger
from gitops_bg.repo.ledger.ledger_file import LedgerDocument, VersionState, in_order
from gitops_bg.views.words import spoken


@dataclass(frozen=True, slots=True)
class FleetRow:
    """An app, or a release group, in one cluster."""

    about: AppOrGroup
    cluster: str
    document: LedgerDocument
    agrees: bool
    """Whether the same version serves in every cluster that has it."""

    @property
    def active(self) -> str:
        """The name of the version that has the live traffic; empty where none has."""
        return _name(self.document.state.active)

    @property
    def candidate(self) -> str:
        """The name of the version that is to follow; empty where there is none."""
        return _name(self.document.state.candidate)

    @property
    def since(self) -> datetime | None:
        """When live traffic came to the active version."""
        active = self.document.state.active
        return active.since if active else None

    @property
    def last(self) -> str:
        """What happened last, and when."""
        history = self.document.history
        return f"{history[-1].entry.event} {history[-1].entry.at:%Y-%m-%d %H:%M}Z" if history else ""

    def json(self) -> dict[str, Any]:
        """Return the row for programs."""
        state = self.document.state
        entry = self.document.history[-1].entry if self.document.history else None
        return {
            self.about.kind: str(self.about),
            "cluster": self.cluster,
            "agrees": self.agrees,
            "active": _json(state.active),
            "candidate": _json(state.candidate),
            "holds": [{"digest": each.digest, "reason": each.reason} for each in state.holds],
            "lastEvent": {"event": entry.event, "at": _date(entry.at), "by": entry.by} if entry else None,
        }


def fleet_of(ledgers: Sequence[ClusterLedger], namespace: str = "") -> list[FleetRow]:
    """Return a row for each app and each release group in each cluster that knows it; those of one are together."""
    known = [(about, each) for each in ledgers for about in each.documents if namespace in ("", about.namespace)]
    live: dict[AppOrGroup, set[str]] = {}
    for about, ledger in known:
        active = ledger.documents[about].state.active
        live.setdefault(about, set()).add(active.name if active else "")
    ordered = sorted(known, key=lambda each: (*in_order(each[0]), each[1].cluster))
    return [FleetRow(about, each.cluster, each.documents[about], len(live[about]) == 1) for about, each in ordered]


def reports(ledgers: Iterable[ClusterLedger], now: datetime) -> Iterator[str]:
    """Yield a sentence about each cluster: when its agent wrote last, and what is amiss with its ledger."""
    for each in ledgers:
        wrote = f"wrote {spoken((now - each.written).total_seconds())} ago" if each.written else "has written nothing"
        yield f"{each.cluster} {wrote}" + (f"; {each.amiss}" if each.amiss else "")


def json_of_ledger(each: ClusterLedger) -> dict[str, Any]:
    """Return what is known of a cluster's ledger, for programs."""
    return {"cluster": each.cluster, "commit": each.commit, "written": _date(each.written), "trouble": each.amiss}


def _name(version: VersionState | None) -> str:
    return version_name(version.version, version.digest, version.tag) if version else ""


def _json(version: VersionState | None) -> dict[str, Any] | None:
    if version is None:
        return None
    named = {"version": version.version, "digest": version.digest, "tag": version.tag}
    return named | {"sourceCommit": version.source_commit, "since": _date(version.since)}


def _date(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat() if at else None
