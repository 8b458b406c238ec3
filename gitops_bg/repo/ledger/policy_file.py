"""``policies.json`` of the state branch: every change of ``policies/`` in main. Pure data, no Git.

The ledger has it once for the repository, not once for each app that a policy matches.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.record import Event
from gitops_bg.core.text.foreign_json import UNIQUE, NotJson, read_json
from gitops_bg.core.text.printable import one_line
from gitops_bg.repo.write.messages import mark
from gitops_bg.spec.codec import from_json, to_json

KEPT = 500
"""How many changes the file keeps; the older ones are in the log of the state branch."""
_MOST_IN_SUBJECT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """One commit of main that changed policies. Times are UTC."""

    at: datetime | None = None
    """The date of the commit."""
    commit: str = ""
    by: str = ""
    """The author of the commit; for a merge, the person who merged."""
    before: str = ""
    """The digest of the policies before it; empty where there were none."""
    after: str = ""
    changed: tuple[str, ...] = ()
    """A phrase for each policy that changed: ``freeze added``."""


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """The whole file. ``history`` is oldest first."""

    commit: str = ""
    """The last commit of main that it covers."""
    digest: str = ""
    """The digest of the policies at that commit."""
    history: tuple[PolicyChange, ...] = ()

    def taking(self, changes: tuple[PolicyChange, ...], commit: str) -> "PolicyDocument":
        """Return the file with these changes, oldest first, covering main up to ``commit``."""
        digest = changes[-1].after if changes else self.digest
        return replace(self, commit=commit, digest=digest, history=(*self.history, *changes)[-KEPT:])


def render(document: PolicyDocument) -> bytes:
    """Return the text of the file."""
    value = {
        "commit": document.commit,
        "digest": document.digest,
        "history": [to_json(each) for each in document.history],
    }
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode(errors="replace")


def parse(text: bytes) -> PolicyDocument:
    """Parse the text of the file. Raises ``ValueError`` for one that is not ours: others can write to the
    state branch.
    """
    try:
        value: Mapping[str, Any] = read_json(text, UNIQUE)
        return from_json(PolicyDocument, {"commit": "", "digest": "", "history": [], **value})
    except (TypeError, AttributeError, NotJson, InvalidInput) as error:
        raise ValueError(f"not a file of the ledger: {error}") from error


def message(changes: tuple[PolicyChange, ...], cluster: str) -> str:
    """Return the message of the ledger commit: a subject for people, a block of trailers for each change."""
    phrases = [phrase for change in changes for phrase in change.changed]
    shown = ", ".join(phrases[:_MOST_IN_SUBJECT]) + (" …" if len(phrases) > _MOST_IN_SUBJECT else "")
    lines = [line for change in changes for line in _trailers(change)]
    return (
        f"policies: {one_line(shown) or 'changed'} [{one_line(cluster)}]\n\n" + "\n".join(lines) + "\n" + mark(cluster)
    )


def _trailers(change: PolicyChange) -> list[str]:
    values = [
        ("Bg-Event", Event.POLICY_CHANGED),
        ("Bg-From", change.before),
        ("Bg-To", change.after),
        ("Bg-Commit", change.commit),
        ("Bg-By", change.by),
        ("Bg-Reason", ", ".join(change.changed)),
    ]
    return [f"{name}: {text}" for name, value in values if (text := one_line(value))]
