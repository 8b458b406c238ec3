"""What the page of policies shows: each policy of main, what it shuts now, and when its windows open and shut in the
coming days. Judges nothing but windows: what else a policy says of an app, the app's gates say.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from gitops_bg.core.checks.policy_judge import matches, name_of
from gitops_bg.core.checks.policy_rules import is_open, next_open, next_shut, why_shut
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.policy_rules import Policy, Windows
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.written import Labels
from gitops_bg.views.rows import Row
from gitops_bg.web.dashboard.snapshot import Listed

DAYS = 7
"""How far the calendar looks."""
_MOST_SPANS = 60


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which traffic may not move."""

    start: datetime
    end: datetime
    why: str
    lasts: bool = False
    """It goes on beyond the calendar."""


@dataclass(frozen=True, slots=True)
class ShownPolicy:
    """One policy."""

    policy: Policy
    rules: tuple[str, ...]
    apps: int
    """How many apps it is for."""
    holds: tuple[Listed, ...]
    """The apps that wait for it now."""
    spans: tuple[Span, ...] | None
    """When it is shut in the coming days; None where it has no windows."""


def shown_policies(
    policies: Iterable[Policy], rows: Iterable[Listed], labels: "dict[AppKey, Labels]", now: datetime
) -> tuple[ShownPolicy, ...]:
    """Return all policies; ``labels`` are those of the targets."""
    apps = [each for each in rows if isinstance(each.key, AppKey)]
    return tuple(_shown(each, apps, labels, now) for each in policies)


def _shown(policy: Policy, apps: list[Listed], labels: "dict[AppKey, Labels]", now: datetime) -> ShownPolicy:
    of = [each for each in apps if _is_for(policy, each, labels)]
    windows = [rule for rule in policy.rules if isinstance(rule, Windows)]
    spans = tuple(sorted((span for each in windows for span in _spans(each, now)), key=lambda span: span.start))
    return ShownPolicy(
        policy=policy,
        rules=tuple(dict.fromkeys(map(name_of, policy.rules))),
        apps=len(of),
        holds=tuple(each for each in of if _waits_for(each, policy)),
        spans=spans if windows else None,
    )


def _is_for(policy: Policy, line: Listed, labels: "dict[AppKey, Labels]") -> bool:
    key, row = line.key, line.row
    known = labels.get(key, ()) if isinstance(key, AppKey) else ()
    return isinstance(row, Row) and matches(policy.match, row.key, known, row.environment)


def _waits_for(line: Listed, policy: Policy) -> bool:
    """Return whether a gate of the app names the policy, as the engine does: before a colon."""
    return any(gate.kind == "policy" and gate.reason.startswith(f"{policy.name}:") for gate in line.shut)


def _spans(windows: Windows, now: datetime) -> Iterator[Span]:
    """Yield the times from ``now`` on in which the windows are shut."""
    moment, last = now, now + timedelta(days=DAYS)
    for _ in range(_MOST_SPANS):
        if is_open(windows, moment):
            shuts = next_shut(windows, moment)
            if shuts is None or shuts >= last:
                return
            moment = shuts
            if is_open(windows, moment):  # another window goes on
                moment += timedelta(minutes=1)
            continue
        opens = next_open(windows, moment)
        end = min(opens, last) if opens else last
        yield Span(moment, end, why_shut(windows, moment), lasts=end == last)
        if end == last:
            return
        moment = end
