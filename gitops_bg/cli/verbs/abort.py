"""`abort`: stops what is on its way and returns traffic to the last good version, at once, also with Git down."""

from typing import Annotated, Any

import typer

from gitops_bg.agent.offline import Offline
from gitops_bg.cli.errors import NotSo
from gitops_bg.cli.opening import access
from gitops_bg.cli.operating import Answered, carry_out, facts_of, new_request, now
from gitops_bg.cli.options import Apps, AuthorOptions, LiveOptions, PatienceOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session import Session
from gitops_bg.cli.several import each_of
from gitops_bg.cli.user_git import who
from gitops_bg.core.actions import label
from gitops_bg.core.model import AppKey
from gitops_bg.core.observed import Request, Verb


def abort(
    apps: Apps,
    at: LiveOptions,
    person: AuthorOptions,
    patience: PatienceOptions,
    reason: Annotated[
        str, typer.Option("--reason", "-r", "--message", "-m", help="Why; it goes into the ledger.")
    ] = "aborted by hand",
) -> int:
    """Abort rollouts: the candidate goes on hold, traffic stays or returns. Needs no Git; Git is told afterwards.

    Of several apps, one that cannot be aborted stops none of the others.

    Example: gitops-bg abort shop/web --reason 'errors on the preview'
    """
    output = Output(at.out)
    by = who(person.author)

    def act(name: str) -> tuple[dict[str, Any], str]:
        with Session(kube=at.kube, place=at.place) as session:
            key = session.app(name)
        with Offline(access(at.kube), key, now) as cluster:
            facts_of(cluster, key)
            request: Request = new_request(Verb.ABORT, by, reason)
            return _told(key, carry_out(cluster, request, patience, output))

    done, code = each_of(apps, act)
    output.each(done)
    return code


def _told(app: AppKey, answered: Answered) -> tuple[dict[str, Any], str]:
    """What became of it, in both forms. Raises `NotSo` where nothing did."""
    held = [hold.digest for hold in answered.after.holds if not answered.before.held(hold.digest)]
    if not held and answered.after.traffic == answered.before.traffic:
        raise NotSo(f"{app}: there was nothing to abort")
    live = _live(answered)
    return (
        {"app": str(app), "held": held, "live": live, "byAgent": answered.by_agent},
        f"{app}: aborted; live traffic goes to {live or 'nothing'}",
    )


def _live(answered: Answered) -> str | None:
    version = answered.after.version(answered.after.traffic)
    return label(version.number, version.digest) if version else None
