"""What people do on the dashboard: the paths by which the actions of the table are asked for.

Each is asked once: a form, or a link, leads to a page that says what would happen, and its button does it. Roles are
checked here, where the action is carried out; pages only hide what somebody may not do.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gitops_bg.agent.groups.commands import GroupCommands
from gitops_bg.agent.logs import fields
from gitops_bg.agent.operate.apps import AppCommands
from gitops_bg.agent.operate.asked import Answer, Asked, PlannedCommand
from gitops_bg.agent.operate.personal_forge import PersonalForge
from gitops_bg.core.errors import (
    CommandFailed,
    GitopsBgError,
    InvalidInput,
    ObjectNotFound,
    Refused,
    UsageError,
    WorldChanged,
)
from gitops_bg.core.foreign_text import is_in_range, one_line, seconds_of
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from gitops_bg.repo.settings import is_app
from gitops_bg.repo.write.commits import Requester
from gitops_bg.web.access.person import (
    Person,
    Role,
    access_for,
    forge_token,
    form_token,
    person_of,
    posted_form,
    refuse,
)
from gitops_bg.web.dashboard.action_table import ACTIONS, OF_GROUPS, Action

_log = logging.getLogger(__name__)


_OVERRIDE = "override."
Show = Callable[..., Response]
"""Makes a page: of a request and a template, with a status and what is shown."""

_STATUSES: tuple[tuple[type[GitopsBgError], int], ...] = (
    (ObjectNotFound, 404),
    (UsageError, 400),
    (CommandFailed, 409),
    (InvalidInput, 409),
    (WorldChanged, 409),
    (Refused, 403),
)


def status_of(error: GitopsBgError) -> int:
    """Return the status of an error over HTTP; 503 for what may pass by itself."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 503)


class Acting:
    """The paths of all actions on apps and release groups."""

    def __init__(
        self,
        commands: AppCommands,
        groups: GroupCommands,
        account: Callable[[str], PersonalForge | None],
        show: Show,
    ) -> None:
        self._commands = commands
        self._account = account
        self._groups = groups
        self._show = show

    def routes(self) -> list[Route]:
        """Return ``/apps/NAMESPACE/APP/ACTION``, and below ``/groups``: GET says what would happen, POST does it once
        the form says ``sure=yes``.
        """
        of_apps = [self._route("/apps/{namespace}/{app}", action) for action in ACTIONS.values()]
        return [*of_apps, *(self._route("/groups/{namespace}/{group}", action) for action in OF_GROUPS.values())]

    def _plan(self, subject: AppOrGroup, asked: Asked) -> PlannedCommand:
        if isinstance(subject, GroupKey):
            return self._groups.plan(subject, asked)
        return self._commands.plan(subject, asked)

    def _route(self, path: str, action: Action) -> Route:
        async def answer(request: Request) -> Response:
            posted = request.method == "POST"
            form = await posted_form(request) if posted else _without_emergency(dict(request.query_params))
            return await run_in_threadpool(self._answer, action, request, form)

        return Route(f"{path}/{action.command}", answer, methods=["GET", "POST"])

    def _answer(self, action: Action, request: Request, form: Mapping[str, str] | None) -> Response:
        asking = _Asking(action, request, form, self._show, self._account(forge_token(request)))
        try:
            asked = asking.demand_permitted(self._commands.now)
            plan = self._plan(asking.subject, asked)
            if not asking.is_sure:
                return asking.confirm(plan)
            asking.demand_reason(asked)
            done = plan.carry_out()
        except WorldChanged as error:
            return asking.refuse(error, self._again(asking))
        except GitopsBgError as error:
            return asking.refuse(error)
        _log.info("asked on the dashboard", extra=asking.logged(done))
        return asking.report(done)

    def _again(self, asking: "_Asking") -> PlannedCommand | None:
        """Return what would be done to the app as it is now, for who saw it as it was; None where that is nothing."""
        try:
            return self._plan(asking.subject, asking.as_it_is_now(self._commands.now))
        except GitopsBgError:
            return None


class NotPermitted(Refused):
    """Who asks has not the role."""

    reason = "NotPermitted"


class _Asking:
    """One request for an action, and its answers: pages for people, JSON for programs."""

    def __init__(
        self,
        action: Action,
        request: Request,
        form: Mapping[str, str] | None,
        show: Show,
        account: PersonalForge | None,
    ) -> None:
        self._action = action
        self._account = account
        self._request = request
        self._form = form or {}
        self._is_ours = form is not None
        self._show = show
        named = request.path_params
        self.subject: AppOrGroup = (
            GroupKey(named["namespace"], named["group"])
            if "group" in named
            else AppKey(named["namespace"], named["app"])
        )

    @property
    def is_sure(self) -> bool:
        """Whether it is to be done, and not only shown."""
        return self._request.method == "POST" and self._form.get("sure") == "yes"

    def demand_permitted(self, now: datetime) -> Asked:
        """Return what is asked. Raises `ObjectNotFound` for an app that the person may not even see, `NotPermitted`,
        and `UsageError` for what makes no sense.
        """
        person, access, namespace = person_of(self._request), access_for(self._request), self.subject.namespace
        sees = is_app(namespace, self.subject.name) and access.may(person, Role.VIEWER, namespace)
        if not sees or person is None:
            raise ObjectNotFound(f"there is no {self.subject.kind} {one_line(str(self.subject))}")
        role = Role.ADMIN if _overrides(self._form) else self._action.role
        if not access.may(person, role, namespace):
            raise NotPermitted(
                f"{person.name} may not do that in {namespace}: it needs the role {role}, which `access` in "
                "gitops-bg.yaml gives to groups"
            )
        if not self._is_ours:
            raise NotPermitted("this form is of another session, or of before this one began: load the page again")
        return self._asked(person, now)

    def _asked(self, person: Person, now: datetime) -> Asked:
        form = self._form
        number = form.get("version", "") if isinstance(self.subject, AppKey) else ""
        if number and not (number.isascii() and number.isdecimal() and len(number) < 10):
            raise UsageError(f"the version is {number[:20]!r}: write its number, such as 4")
        return Asked(
            command=self._action.command,
            by=Requester(name=person.name, email=person.email, subject=person.subject, via="dashboard"),
            reason=one_line(form.get("reason", "")),
            digest=form.get("digest", ""),
            head=form.get("head", ""),
            version=int(number) if number else None,
            version_of_group=form.get("version", ""),
            gate=form.get("gate", ""),
            until=_moment(form.get("until", ""), now),
            overrides=_overrides(form),
            account=self._account,
        )

    def as_it_is_now(self, now: datetime) -> Asked:
        """Return the same, of the app as it is."""
        kept = _without_emergency(self._form).items()
        self._form = {name: value for name, value in kept if name not in ("digest", "head", "sure")}
        return self.demand_permitted(now)

    def demand_reason(self, asked: Asked) -> None:
        """Raise `UsageError` where a reason is needed and missing."""
        if (self._action.needs_reason or asked.overrides) and not asked.reason:
            raise UsageError(f"say why: what {self._action.command} does is in the ledger for all to see")

    # --- answers ---

    def confirm(self, plan: PlannedCommand) -> Response:
        """Return what would happen, and the button that does it."""
        return self._answer(
            200, "confirm.html", {"would": plan.says, **_shown(plan)}, plan=plan, may_override=self._may_override
        )

    @property
    def _may_override(self) -> bool:
        person, access = person_of(self._request), access_for(self._request)
        return access.may(person, Role.ADMIN, self.subject.namespace)

    def report(self, done: Answer) -> Response:
        """Return what was done."""
        said = {"says": done.says, "commit": done.commit, "branch": done.branch, "pullRequest": done.pull}
        return self._answer(202 if done.branch else 200, "done.html", said, done=done)

    def refuse(self, error: GitopsBgError, newer: PlannedCommand | None = None) -> Response:
        """Return why it was not done; with what could be done now, where the app has changed meanwhile."""
        refuse(self._request, str(error))
        said: dict[str, Any] = {"message": str(error), "reason": error.reason}
        if newer is not None:
            said["newer"] = {"would": newer.says, **_shown(newer)}
        return self._answer(status_of(error), "confirm.html", said, plan=newer, trouble=str(error))

    def _answer(self, status: int, template: str, said: Mapping[str, Any], **given: Any) -> Response:
        if "text/html" not in self._request.headers.get("accept", ""):
            return JSONResponse(
                {str(self.subject.kind): str(self.subject), "action": self._action.command, **said}, status
            )
        token = form_token(self._request)
        form = dict.fromkeys(("reason", "until", "version", "gate"), "") | dict(self._form)
        shown = {"plan": None, "done": None, "trouble": "", "form": form, "token": token, "may_override": False} | given
        shown["overrides"] = _overrides(self._form)
        shown["at_forge"] = self._account is not None
        return self._show(self._request, template, status, app=self.subject, action=self._action, **shown)

    def logged(self, done: Answer) -> dict[str, Any]:
        """Return who did what, for the log."""
        person = person_of(self._request)
        who = (str(person), person.subject) if person is not None else ("", "")
        return fields(app=self.subject, action=self._action.command, by=who[0], subject=who[1], commit=done.commit)


def _without_emergency(form: Mapping[str, str]) -> dict[str, str]:
    """Return what a link may bring to a page that asks: no override, and no reason. Who reads the page says these."""
    return {
        name: value
        for name, value in form.items()
        if name not in ("reason", "override") and not name.startswith(_OVERRIDE)
    }


def _overrides(form: Mapping[str, str]) -> tuple[str, ...]:
    """Return the policies to override: of a script in one field, of a page in a field each, ``override.NAME``."""
    named = form.get("override", "").split(",")
    ticked = (name.removeprefix(_OVERRIDE) for name in form if name.startswith(_OVERRIDE))
    return tuple(dict.fromkeys(filter(None, map(str.strip, (*named, *ticked)))))


def _shown(plan: PlannedCommand) -> dict[str, Any]:
    return {
        "waitsFor": plan.waits,
        "configuration": plan.changes,
        "digest": plan.digest,
        "head": plan.head,
        "overridable": plan.overridable,
    }


def _moment(text: str, now: datetime) -> datetime | None:
    """Return a time with its zone, or a duration from now. Raises `UsageError`."""
    if not text.strip():
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        try:
            return now.replace(microsecond=0) + timedelta(seconds=seconds_of(text.strip()))
        except (ValueError, OverflowError) as error:
            wanted = "write a time such as 2026-03-01T12:00:00Z, or a duration such as 2h"
            raise UsageError(f"until {text[:40]!r}: {wanted}") from error
    if moment.tzinfo is None or not is_in_range(moment):
        raise UsageError(f"until {text[:40]!r}: write a time with its zone, such as 2026-03-01T12:00:00Z")
    return moment
