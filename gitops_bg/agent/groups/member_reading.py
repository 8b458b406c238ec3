"""Main as the group of a member lets the member see it. Pure."""

from collections import ChainMap
from dataclasses import replace

from gitops_bg.agent.desired.reading import Entry, Reading
from gitops_bg.core.groups.record import MemberState
from gitops_bg.core.model.version import AppKey


def reading_for(reading: Reading, app: AppKey, state: MemberState | None) -> Reading:
    """Return the reading in which an archived member has no pods, and a deleted one has left main."""
    entry = reading.entries.get(app)
    if entry is None or state not in (MemberState.SCALED_DOWN, MemberState.DELETED):
        return reading
    if state is MemberState.DELETED:
        return replace(reading, entries={key: each for key, each in reading.entries.items() if key != app})
    return replace(reading, entries=ChainMap({app: _without_pods(entry)}, dict(reading.entries)))


def _without_pods(entry: Entry) -> Entry:
    target = entry.config.target
    if target is None:
        return entry
    return replace(entry, config=replace(entry.config, target=replace(target, replicas=0)))
