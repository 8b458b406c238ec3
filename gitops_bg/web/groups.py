"""/api/v1/groups: promote, roll back and delete versions of a release group. Each makes a commit on main.

Off unless the agent has a token; then every request needs ``Authorization: Bearer <token>``. Answers as Netcracker's
control plane does (versions-and-routes.md §9): 200; 202 asked for by a commit, or by a branch for people to merge where
main takes none from the agent; 400 what is asked makes no sense; 401 no token, or a wrong one; 403 off, or the agent
may not write at all; 404 no such group or version; 409 not in this stage, or main names another version by now; 503 try
again.
"""

import hmac
from collections.abc import Callable, Iterable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gitops_bg.agent.groups.commands import GroupCommands
from gitops_bg.agent.groups.commits import NoSuchGroup, RequestedChange
from gitops_bg.core.errors import GitopsBgError, InvalidInput, Refused, WorldChanged
from gitops_bg.core.groups.model import GroupVersion, PromotionRejected, Rejection
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.written import LARGEST
from gitops_bg.web.agent_port import AgentView, AskedAnswer, DeletedAnswer, MessageAnswer, VersionRow, Where

_GROUP = "/api/v1/groups/{namespace}/{group}"
_CODES = {Rejection.NO_SUCH_VERSION: 404, Rejection.WRONG_SIZE: 400}
"""The statuses of what the lifecycle rejects; 409 for all else."""
_OFF = "this agent has no --api-token-file, so it takes no commands"
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}}

Work = Callable[[GroupCommands, GroupKey, Request], JSONResponse]


def routes(view: AgentView) -> list[Route]:
    """Return the routes, each in a thread: a commit takes a while, and health must respond meanwhile."""

    def route(path: str, method: str, work: Work) -> Route:
        def answer(request: Request) -> JSONResponse:
            return _refusal(view, request) or _answered(view, request, work)

        return Route(f"{_GROUP}{path}", answer, methods=[method])

    return [
        route("/versions", "GET", _versions),
        route("/promote/{version}", "POST", _promote),
        route("/rollback", "POST", _roll_back),
        route("/versions/{version}", "DELETE", _delete),
    ]


def _refusal(view: AgentView, request: Request) -> JSONResponse | None:
    """Return the answer to who may not ask; None for who may."""
    token = view.api_token
    if not token:
        return _message(403, _OFF)
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), token):
        return _message(401, "send the agent's token: Authorization: Bearer <token>")
    return None


def _answered(view: AgentView, request: Request, work: Work) -> JSONResponse:
    group = GroupKey(request.path_params["namespace"], request.path_params["group"])
    try:
        return work(view.group_commands, group, request)
    except NoSuchGroup as error:
        return _message(404, str(error))
    except PromotionRejected as error:
        return _message(_CODES.get(error.why, 409), str(error), reason=str(error.why))
    except (InvalidInput, WorldChanged) as error:
        return _message(409, str(error), reason=error.reason)
    except Refused as error:
        said = f"neither main nor a branch takes a commit from the agent: {error}; make the change yourself"
        return _message(403, said, reason=error.reason)
    except GitopsBgError as error:
        return _message(503, str(error), reason=error.reason)


def _versions(commands: GroupCommands, group: GroupKey, _: Request) -> JSONResponse:
    return JSONResponse(_rows(commands.versions(group)))


def _promote(commands: GroupCommands, group: GroupKey, request: Request) -> JSONResponse:
    text = request.query_params.get("archiveSize")
    size = None if text is None else _count(text)
    if text is not None and size is None:
        return _message(400, f"archiveSize is {text[:20]!r}: write a number from 0 to {LARGEST}")
    return _asked(commands.promote(group, request.path_params["version"], size))


def _count(text: str) -> int | None:
    """Return a number up to what `check` takes: a larger one in main would make the group invalid. None for anything
    else.
    """
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and len(digits) <= len(str(LARGEST))
    return int(text) if plain and int(text) <= LARGEST else None


def _roll_back(commands: GroupCommands, group: GroupKey, _: Request) -> JSONResponse:
    return _asked(commands.roll_back(group))


def _delete(commands: GroupCommands, group: GroupKey, request: Request) -> JSONResponse:
    asked, version = commands.delete(group, request.path_params["version"]), request.path_params["version"]
    (row,) = _rows(each for each in asked.versions if each.name == version)
    answer: DeletedAnswer = {**_where(asked), **row}
    return JSONResponse(answer, 202 if asked.branch else 200)


def _asked(asked: RequestedChange) -> JSONResponse:
    answer: AskedAnswer = {**_where(asked), "versions": _rows(asked.versions)}
    return JSONResponse(answer, 202)


def _where(asked: RequestedChange) -> Where:
    """Return the commit; where main takes none from the agent, also what somebody has to merge for it."""
    where: Where = {"commit": asked.commit}
    if asked.branch:
        where["branch"] = asked.branch
    if asked.pull:
        where["pullRequest"] = asked.pull
    return where


def _rows(versions: Iterable[GroupVersion]) -> list[VersionRow]:
    return [
        {"version": each.name, "stage": each.stage, "updatedWhen": each.changed_at.isoformat()} for each in versions
    ]


def _message(status: int, sentence: str, reason: str = "") -> JSONResponse:
    body: MessageAnswer = {"message": sentence}
    if reason:
        body["reason"] = reason
    return JSONResponse(body, status, _HEADERS.get(status))
