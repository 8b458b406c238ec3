"""The variables of expressions (policies.md §2), built from facts: plain mappings, lists, texts and moments.

Unknown and future facts have no key: an expression that needs one has no answer, and says so.
"""

from datetime import datetime, tzinfo

from gitops_bg.core.model.policies.facts import CommitFacts, Facts, PastMove, Peer, VersionFacts
from gitops_bg.core.model.version import AppKey

VARIABLES = ("app", "from", "to", "promotion", "approvals", "preview", "history", "apps", "now", "local")
"""``from`` is a reserved word in some dialects of CEL, not in ours."""
MOST_HISTORY = 50


def values_of(facts: Facts, now: datetime, zone: tzinfo) -> dict[str, object]:
    """Return all variables, by name."""
    local = now.astimezone(zone)
    preview: dict[str, object] = {
        "healthy": facts.available_since is not None,
        "available_since": facts.available_since,
    }
    return _known(
        {
            "app": {
                "namespace": facts.app.namespace,
                "name": facts.app.name,
                "labels": dict(facts.labels),
                "annotations": dict(facts.annotations),
            },
            "from": _version(facts.serving) if facts.serving else {},
            "to": _version(facts.to),
            "promotion": _commit(facts.promotion) if facts.promotion else {},
            "approvals": _approvals(facts, now),
            "preview": _known(preview),
            "history": {"promotions": _moves(facts.promotions), "rollbacks": _moves(facts.rollbacks)},
            "apps": {str(who): _peer(peer) for who, peer in facts.others.peers.items() if isinstance(who, AppKey)},
            "now": now,
            "local": {
                "weekday": ("mon", "tue", "wed", "thu", "fri", "sat", "sun")[local.weekday()],
                "hour": local.hour,
                "minute": local.minute,
                "date": f"{local:%Y-%m-%d}",
            },
        }
    )


def _approvals(facts: Facts, now: datetime) -> list[dict[str, object]] | None:
    """Return the approvals that may now count for this very version; None where it is unknown who approved."""
    if facts.approvals is None:
        return None
    return [
        {"by": each.by, "groups": sorted(each.groups), "at": each.at, "proof": str(each.proof)}
        for each in facts.approvals
        if not each.void and each.digest == facts.to.digest and not each.untimely(now)
    ]


def _version(version: VersionFacts) -> dict[str, object]:
    source: dict[str, object] = {"commit": version.source_commit}
    if version.source:
        source |= _commit(version.source)
    images = None if version.images is None else list(version.images)
    return _known(
        {
            "version": version.number,
            "version_label": version.label,
            "digest": version.digest,
            "images": images,
            "source": source,
        }
    )


def _commit(commit: CommitFacts) -> dict[str, object]:
    trailers = dict(reversed(commit.trailers))
    return _known(
        {
            "commit": commit.commit,
            "author": str(commit.author),
            "by": str(commit.committer),
            "at": commit.at,
            "message": commit.message,
            "trailers": trailers,
        }
    )


def _peer(peer: Peer) -> dict[str, object]:
    active = {"version": peer.number, "version_label": peer.label, "digest": peer.digest}
    return _known(
        {"active": active, "phase": peer.phase, "since": peer.healthy_since, "healthy": peer.healthy_since is not None}
    )


def _moves(moves: tuple[PastMove, ...]) -> list[dict[str, object]]:
    return [{"at": each.at, "digest": each.digest, "reason": each.reason} for each in moves[:MOST_HISTORY]]


def _known(values: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if value is not None}
