"""What each page shows, before it is drawn. Each is made in a thread of its own."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from gitops_bg.agent.operate.asked import AppCommand
from gitops_bg.agent.operate.compare import Comparison
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, ObjectNotFound
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, short
from gitops_bg.repo.settings import is_app
from gitops_bg.views.app import AppView
from gitops_bg.views.fleet import FleetRow, fleet_of
from gitops_bg.views.group_tree import GroupView
from gitops_bg.views.history import HistoryRow
from gitops_bg.web.access.person import Role, access_for, forge_token, form_token, person_of
from gitops_bg.web.dashboard.action_table import actions_for
from gitops_bg.web.dashboard.app_page import AppPage, GroupPage
from gitops_bg.web.dashboard.listing import ROWS, About, Page, Query, may_answer, page_of
from gitops_bg.web.dashboard.rendering import render
from gitops_bg.web.dashboard.snapshot import Listed, Snapshot
from gitops_bg.web.dashboard.source import Source, quietly

_ENTRIES = 12
"""Entries of the ledger on the page of an app."""
_WAITING = 6
"""Cards of what waits for people, above the list."""
_SIMILAR = 5
_COMPARED = 500
"""Names that are compared with one that is not there: that takes a second for ten thousand."""
_DEEPEST = 1_000
"""How far back a link to a commit reaches."""
_SHORTEST = 7
"""Digits by which a commit is named at least."""
_MOST_OF_FLEET = 500
_LONGEST_NUMBER = 10


class NotHere(Exception):
    """There is no such page, app or version."""

    def __init__(self, what: str, instead: list[AppOrGroup] | None = None) -> None:
        super().__init__(what)
        self.instead = instead or []


@dataclass(frozen=True, slots=True)
class Shown:
    """A page, and what is on it. Two are equal where people see no difference but the time."""

    template: str
    given: Mapping[str, Any]
    status: int = 200
    live: bool = True
    """Whether it is kept up to date."""


class Pages:
    """What each page shows."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def all(self, request: Request) -> Shown:
        """Everything, what waits for people first."""
        page, waiting, is_mine = self.listed(request), list[Listed](), self._about(request).is_mine
        if page.query == Query():
            asking = (each for each in self._seen(request).rows if each.asked or is_mine(each))
            waiting = sorted(asking, key=lambda each: not is_mine(each))[:_WAITING]
        return Shown("list.html", {"page": page, "waiting": waiting, "mine": frozenset(filter(is_mine, waiting))})

    def listed(self, request: Request) -> Page:
        """Return the page of the list that is asked for, of what the person sees."""
        return page_of(self._seen(request), Query.read(request.query_params), self._about(request))

    def _about(self, request: Request) -> About:
        person, access = person_of(request), access_for(request)

        def is_mine(line: Listed) -> bool:
            return may_answer(line, lambda role: access.may(person, role, line.row.namespace))

        return About(self._source.labels, is_mine)

    def app(self, request: Request) -> Shown:
        """Return one app."""
        view = self.app_view(request)
        app = view.row.key
        entries, unread = quietly(lambda: tuple(self._source.history(app, _ENTRIES)))
        troubles, _ = quietly(lambda: self._source.troubles(view))
        page = AppPage(view, troubles, entries, unread, self._source.clock())
        numbers = {short(each.digest): each.number for each in view.versions}
        logs = {each.name: self._source.logs_of(app, numbers.get(each.digest, 0), each.name) for each in view.pods}
        return Shown("app.html", {"app": app, "page": page, "logs": logs, **self._buttons(request, app, page)})

    def _buttons(self, request: Request, about: AppOrGroup, page: AppPage | GroupPage) -> dict[str, Any]:
        """Return what makes sense at present, of what the person may; and the gates that they may open or close."""
        has_account = bool(forge_token(request))
        permitted = actions_for(person_of(request), access_for(request), about)
        may = {each.command: each for each in permitted if has_account or not each.at_forge}
        ways = (
            (AppCommand.CLOSE_GATE if is_open else AppCommand.OPEN_GATE, name) for name, is_open in page.manual_gates
        )
        gates = [(may[command], name) for command, name in ways if command in may]
        return {"actions": [each for each in may.values() if each.command in page.possible], "gate_actions": gates}

    def history(self, request: Request) -> Shown:
        """Return what happened to an app or a group, a page at a time."""
        subject, page = self.visible(request), Query.read(request.query_params).page
        entries = self.entries(request, subject, page * ROWS + 1)
        shown, more = tuple(entries[(page - 1) * ROWS : page * ROWS]), len(entries) > page * ROWS
        return Shown("history.html", {"subject": subject, "rows": shown, "number": page, "more": more})

    def entry(self, request: Request) -> Shown:
        """Return one entry of the history, by its commit, with what it changed."""
        subject, commit = self.visible(request), request.path_params["commit"]
        found = [each for each in self._source.history(subject, _DEEPEST) if commit in _commits(each)]
        if not found or len(commit) < _SHORTEST:
            raise NotHere(f"The history of {subject} has no commit {commit[:40]}.", [subject])
        entry = found[0]
        changes = self._source.changes(subject, entry) if isinstance(subject, AppKey) else ()
        return Shown("entry.html", {"subject": subject, "row": entry, "changes": changes})

    def compare(self, request: Request) -> Shown:
        """Two versions of an app beside each other. What they are never changes, so the page is not kept up to date."""
        view, given = self.app_view(request), request.query_params
        known = sorted({each.number for each in view.versions}, reverse=True)
        asked = [given.get("from", ""), given.get("to", "")]
        found = self.compared(request) if all(asked) else None
        return Shown("compare.html", {"app": view.row.key, "known": known, "asked": asked, "found": found}, live=False)

    def compared(self, request: Request) -> Comparison:
        """Return the comparison that is asked for. Raises `NotHere` for a version that nobody has, or that is no
        number.
        """
        app = self.visible(request)
        assert isinstance(app, AppKey)
        numbers = [request.query_params.get(name, "").removeprefix("v") for name in ("from", "to")]
        if not all(each.isascii() and each.isdecimal() and len(each) < _LONGEST_NUMBER for each in numbers):
            raise NotHere(f"Versions of {app} are compared by their numbers: ?from=3&to=4.", [app])
        try:
            return self._source.compare(app, *map(int, numbers))
        except ObjectNotFound as error:
            raise NotHere(f"{error}.", [app]) from error

    def group(self, request: Request) -> Shown:
        """Return one release group."""
        view = self.group_view(request)
        group = view.group
        entries, unread = quietly(lambda: tuple(self._source.history(group, _ENTRIES)))
        page = GroupPage(view, entries, unread, self._source.clock())
        shown = self._buttons(request, group, page)
        return Shown("group.html", {"group": group, "page": page, **shown})

    def policies(self, request: Request) -> Shown:
        """Return the policies of main, and what they shut; of who does not see all namespaces, those for what they
        see.
        """
        now, all_of_them = self._source.clock(), self._source.snapshot()
        seen = all_of_them.seen_by(sees(request))
        sees_all = seen is all_of_them and sees(request)("")
        return Shown("policies.html", self._source.policies(seen.rows, now, sees_all=sees_all))

    def fleet(self, request: Request) -> Shown:
        """Return all clusters of the repository."""
        fleet, query = self._source.fleet().seen_by(sees(request)), Query.read(request.query_params)
        words, found = query.search.lower().split(), dict[AppOrGroup, dict[str, FleetRow]]()
        for row in fleet_of(fleet.ledgers):
            if all(word in str(row.about).lower() for word in words):
                found.setdefault(row.about, {})[row.cluster] = row
        shown = tuple(found.items())[:_MOST_OF_FLEET]
        given = {"fleet": fleet, "rows": shown, "found": len(found), "query": query}
        return Shown("fleet.html", given | {"has_environments": bool(self._source.environments())})

    def environments(self, request: Request) -> Shown:
        """Return the apps by environments: which release is where, and what the next one waits for."""
        see = sees(request)
        fleet, query = self._source.fleet().seen_by(see), Query.read(request.query_params)
        words = query.search.lower().split()
        rows = (each for each in self._source.by_environment(fleet) if see(each.app.namespace))
        found = [each for each in rows if all(word in str(each.app).lower() for word in words)]
        names = self._source.environments().names
        given = {"fleet": fleet, "rows": found[:_MOST_OF_FLEET], "found": len(found), "names": names}
        return Shown("environments.html", given | {"query": query})

    def wall(self, request: Request) -> Shown:
        """Return what a screen on a wall shows: what people are needed for, what moves, and how many are well."""
        snapshot = self._seen(request)
        moving = [each for each in snapshot.rows if not each.asked and each.row.phase != Phase.HEALTHY]
        asking = [each for each in snapshot.rows if each.asked]
        return Shown("wall.html", {"asking": asking, "moving": moving, "total": len(snapshot.rows)})

    def me(self, request: Request) -> Shown:
        """Return who asks, and what they may, by namespace."""
        person, access = person_of(request), access_for(request)
        places = self._seen(request).namespaces
        roles = {role: [each for each in places if access.may(person, role, each)] for role in Role}
        return Shown("me.html", {"person": person, "roles": roles, "places": places})

    def failed(self, request: Request, error: Exception) -> Shown:
        """Return what there is instead of what was asked for; or why it cannot be shown now."""
        if isinstance(error, GitopsBgError):
            return Shown("failed.html", {"what": str(error)}, 503, live=False)
        what = str(error) if isinstance(error, NotHere) else f"There is no page {request.url.path}."
        instead = error.instead if isinstance(error, NotHere) else []
        return Shown("unknown.html", {"what": what, "instead": instead}, 404, live=False)

    def show(self, request: Request, template: str, status: int = 200, **given: Any) -> Response:
        """Return the page of an action."""
        return HTMLResponse(self.draw(Shown(template, given, status, live=False), request), status)

    # --- what pages have in common ---

    def visible(self, request: Request) -> AppOrGroup:
        """Return the app or group that is asked about. Raises `NotHere` where the person may not see it."""
        subject = subject_of(request)
        assert subject is not None
        if not self._sees(request, subject):
            raise NotHere(f"Nothing is known of {subject.kind} {subject}.", self._similar(request, subject))
        return subject

    def entries(self, request: Request, subject: AppOrGroup, limit: int) -> Sequence[HistoryRow]:
        """Return its newest entries. Raises `NotHere` where the ledger has none, and the cluster does not run it
        either.
        """
        found = self._source.history(subject, limit)
        if not found and self._live(subject) is None:
            raise NotHere(f"Nothing is known of {subject.kind} {subject}.", self._similar(request, subject))
        return found

    def app_view(self, request: Request) -> AppView:
        """Return the app that is asked about. Raises `NotHere` where there is none that the person may see."""
        app = AppKey(request.path_params["namespace"], request.path_params["app"])
        view = self._source.app(app) if self._sees(request, app) else None
        if view is None:
            raise NotHere(f"This cluster runs no app {app}.", self._similar(request, app))
        return view

    def group_view(self, request: Request) -> GroupView:
        """Return the release group that is asked about. Raises as `app_view`."""
        group = GroupKey(request.path_params["namespace"], request.path_params["group"])
        view = self._source.group(group) if self._sees(request, group) else None
        if view is None:
            raise NotHere(f"This cluster has no release group {group}.", self._similar(request, group))
        return view

    def _live(self, subject: AppOrGroup) -> object:
        return self._source.app(subject) if isinstance(subject, AppKey) else self._source.group(subject)

    def draw(self, shown: Shown, request: Request, *, fragment: bool = False) -> str:
        """Return the text of a page; the ``fragment`` is what is inside of its main part."""
        common = {
            "main": self._source.main(),
            "now": self._source.clock(),
            "here": request.url.path,
            "address": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            "commit_url": self._source.commit_url,
            "person": person_of(request),
            "token": form_token(request),
            "reading_only": request.state.reading_only,
            "live": shown.live,
            "fragment": fragment,
        }
        return render(shown.template, {**common, **shown.given})

    def _seen(self, request: Request) -> Snapshot:
        """Return what the person sees of everything."""
        return self._source.snapshot().seen_by(sees(request))

    def _sees(self, request: Request, subject: AppOrGroup) -> bool:
        """Return whether the person may see it. What can be no app is nothing: a name of an address becomes a path in
        Git.
        """
        return is_app(subject.namespace, subject.name) and sees(request)(subject.namespace)

    def _similar(self, request: Request, wanted: AppOrGroup) -> list[AppOrGroup]:
        """Return those whose names are like it, and those of its namespace."""
        known = {str(each.key): each.key for each in self._seen(request).rows}
        names = sorted(known, key=lambda name: known[name].namespace != wanted.namespace)[:_COMPARED]
        close = get_close_matches(str(wanted)[:200], names, _SIMILAR, 0.5)
        near = [name for name, key in known.items() if key.namespace == wanted.namespace]
        return [known[name] for name in dict.fromkeys([*close, *near])][:_SIMILAR]


def sees(request: Request) -> Callable[[str], bool]:
    """Return whether who asks may see a namespace."""
    person, access = person_of(request), access_for(request)
    return lambda namespace: access.may(person, Role.VIEWER, namespace)


def subject_of(request: Request) -> AppOrGroup | None:
    """Return the app or the group that a page is about, by its path."""
    given = request.path_params
    if "app" in given:
        return AppKey(given["namespace"], given["app"])
    return GroupKey(given["namespace"], given["group"]) if "group" in given else None


def _commits(row: HistoryRow) -> str:
    """Return the commits of an entry: that of main, and that of the ledger."""
    return f"{row.change.commit} {row.json.get('commit', '')}"
