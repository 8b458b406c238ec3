"""What the page of one app shows: the same views as the command line's, put together. Decides nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import field
from datetime import datetime
from functools import cached_property

from gitops_bg.agent.operate.asked import AppCommand
from gitops_bg.cluster.status import pull_in
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import ImageChange, image_changes, reread_json
from gitops_bg.core.groups.requests import GroupAborting, aborting
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.analysis import AnalysisRun
from gitops_bg.core.model.conditions import Condition, Meaning, Phase
from gitops_bg.core.model.events import MOVES
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.version import Version
from gitops_bg.core.status.group_advice import serving_in
from gitops_bg.spec.groups.load import manual_gates
from gitops_bg.spec.manifests.differences import Difference, differences
from gitops_bg.views.app import AppView
from gitops_bg.views.conditions import asked_of_people
from gitops_bg.views.group_tree import GroupView, group_root
from gitops_bg.views.history import HistoryRow
from gitops_bg.views.obstacles import Trouble
from gitops_bg.views.rows import GroupRow, group_row_of
from gitops_bg.views.tree import Branch, root_of
from gitops_bg.web.dashboard.drawing import draw, lanes_of
from gitops_bg.web.dashboard.snapshot import ShownGate, moment


@dataclass(frozen=True, slots=True)
class Gate(ShownGate):
    """A gate, open or shut."""

    open: bool


@dataclass(frozen=True)
class AppPage:
    """One app, as it was read."""

    view: AppView
    troubles: tuple[Trouble, ...]
    history: tuple[HistoryRow, ...]
    unread: str
    """Why the history cannot be read; empty where it was."""
    now: datetime = field(compare=False)

    @property
    def live(self) -> Version | None:
        """The version that serves."""
        return self.view.active

    @property
    def coming(self) -> Version | None:
        """The candidate; None where the newest version serves."""
        newest = self.view.newest
        return newest if newest is not None and newest is not self.view.active else None

    @cached_property
    def asked(self) -> tuple[Meaning, ...]:
        """Who must do what."""
        row = self.view.row
        return tuple(asked_of_people(row.phase, row.demands, row.advised))

    @property
    def demands(self) -> tuple[Condition, ...]:
        """The conditions that somebody must act on."""
        return self.view.row.demands

    @cached_property
    def ways_back(self) -> tuple[Version, ...]:
        """The versions that served before the one that does, the newest first."""
        return tuple(each for each in self.view.versions if each.was_active and each != self.live)

    @cached_property
    def manual_gates(self) -> tuple[tuple[str, bool], ...]:
        """The gates that people open and close, each with whether it is open."""
        hooks, state = self.view.strategy.hooks if self.view.strategy else (), self.view.record.hook_state
        return tuple((each.name, state.gate(each.name) is not None) for each in hooks if each.manual)

    @property
    def possible(self) -> frozenset[AppCommand]:
        """What makes sense at present."""
        record, live = self.view.record, self.live
        on_the_way = self.coming is not None and not record.held(self.coming.digest)
        is_held = self.view.row.phase == Phase.HELD
        ways = {
            AppCommand.PROMOTE: on_the_way,
            AppCommand.ABORT: on_the_way,
            AppCommand.RETRY: is_held or self.coming is not None,
            AppCommand.ROLL_BACK: live is not None and bool(self.ways_back),
            AppCommand.SUSPEND: not self.is_suspended,
            AppCommand.RESUME: self.is_suspended or is_held or (self.coming is not None and not on_the_way),
            AppCommand.APPROVE: _is_open(self.pull),
            AppCommand.WITHDRAW_APPROVAL: _is_open(self.pull),
        }
        return frozenset(command for command, makes_sense in ways.items() if makes_sense)

    @property
    def is_suspended(self) -> bool:
        """Whether somebody suspended it."""
        return self.view.row.phase == Phase.SUSPENDED

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """What stands before the next version, open or shut."""
        return tuple(
            Gate(str(each["kind"]), str(each.get("reason") or ""), moment(each.get("until")), bool(each["open"]))
            for each in self.view.gates
        )

    @property
    def pull(self) -> PullRequest | None:
        """The pull request of the promotion."""
        return self.view.pull

    @property
    def picture(self) -> str:
        """The lanes of the versions, as SVG."""
        return draw(lanes_of(self.view), f"The rollout of {self.view.row.key}")

    @cached_property
    def moved(self) -> HistoryRow | None:
        """The entry of the ledger by which the live version came to serve."""
        live = self.live.digest if self.live else ""
        entries = (each for each in self.history if each.event in MOVES)
        return next((each for each in entries if each.json.get("toDigest") == live), None)

    @cached_property
    def images(self) -> tuple[ImageChange, ...]:
        """The images that the promotion would change."""
        return image_changes(*self._templates) if self.coming else ()

    @cached_property
    def changes(self) -> tuple[Difference, ...]:
        """What the promotion would change in the pod template; nothing where one of the two is not known."""
        before, after = self._templates
        return tuple(differences(reread_json(before), reread_json(after))) if before and after else ()

    @property
    def _templates(self) -> tuple[str, str]:
        before, after = self.live, self.coming
        texts = self.view.templates
        return (texts.get(before.digest, ""), texts.get(after.digest, "")) if before and after else ("", "")

    @property
    def runs(self) -> Sequence[AnalysisRun]:
        """The analyses of the newest version, the newest first."""
        newest = self.view.newest
        return self.view.runs_of(newest)[::-1] if newest else ()

    @property
    def tree(self) -> Iterator[tuple[int, Branch]]:
        """All that there is of the app, as `get APP` shows it: each line with its depth. Gates stand elsewhere."""
        for child in root_of(self.view, self.now).children:
            if child.kind != "Gate":
                yield from _lines(child, 0)


@dataclass(frozen=True)
class GroupPage:
    """One release group, as it was read."""

    view: GroupView
    history: tuple[HistoryRow, ...]
    unread: str
    """Why the history cannot be read; empty where it was."""
    now: datetime = field(compare=False)

    @property
    def row(self) -> GroupRow:
        """Its line of the list."""
        return group_row_of(self.view.body)

    @property
    def asked(self) -> tuple[Meaning, ...]:
        """Who must do what."""
        row = self.row
        return tuple(asked_of_people(row.phase, row.demands, row.advised))

    @property
    def pull(self) -> PullRequest | None:
        """The pull request of its branch."""
        return pull_in(self.view.body.get("status") or {})

    @cached_property
    def aborting(self) -> GroupAborting:
        """What an abort would do."""
        return aborting(self.view.record, str((self.view.body.get("spec") or {}).get("active", "")))

    @cached_property
    def manual_gates(self) -> tuple[tuple[str, bool], ...]:
        """The gates that people open and close, each with whether it is open."""
        hooks, state = manual_gates(self.view.body.get("spec") or {}), self.view.record.hook_state
        return tuple((each.name, state.gate(each.name) is not None) for each in hooks)

    @property
    def possible(self) -> frozenset[AppCommand]:
        """What makes sense at present."""
        row, spec = self.row, self.view.body.get("spec") or {}
        is_held, is_suspended = row.phase == Phase.HELD, bool(spec.get("suspend"))
        asks_for_another = spec.get("active") != row.status.active
        ways = {
            AppCommand.PROMOTE: bool(row.status.candidates),
            AppCommand.ROLL_BACK: bool(row.status.legacy) or asks_for_another,
            AppCommand.ABORT: bool(self.aborting),
            AppCommand.RETRY: is_held or asks_for_another,
            AppCommand.SUSPEND: not is_suspended,
            AppCommand.RESUME: is_suspended or is_held,
            AppCommand.APPROVE: _is_open(self.pull),
            AppCommand.WITHDRAW_APPROVAL: _is_open(self.pull),
        }
        return frozenset(command for command, makes_sense in ways.items() if makes_sense)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """What stands before the version that main names."""
        return tuple(
            Gate(each.kind, each.reason or "", moment(each.until), each.open) for each in self.view.status.gates or ()
        )

    @property
    def members(self) -> tuple[tuple[str, str, AppView | None], ...]:
        """Each service of each version that serves: the version, the name of its app, and that."""
        return tuple(
            (version.name, name, self.view.apps.get(name))
            for version in reversed(self.view.record.state.versions)
            for place in serving_in(self.view.record, version.name)
            for name in (member_name(place.service, place.initial_version),)
        )

    @property
    def tree(self) -> Iterator[tuple[int, Branch]]:
        """All that there is of the group, as `get GROUP` shows it: each line with its depth."""
        for child in group_root(self.view, self.now).children:
            if child.kind != "Gate":
                yield from _lines(child, 0)


def _is_open(pull: PullRequest | None) -> bool:
    return pull is not None and pull.state is PullState.OPEN


def _lines(branch: Branch, depth: int) -> Iterator[tuple[int, Branch]]:
    yield depth, branch
    for child in branch.children:
        yield from _lines(child, depth + 1)
