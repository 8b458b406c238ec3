"""`abort`: stops what is on its way and returns traffic to the last good version, at once, also with Git down."""

from typing import Annotated

import typer

from gitops_bg.agent.offline import Offline
from gitops_bg.cli.errors import NotSo
from gitops_bg.cli.opening import access
from gitops_bg.cli.operating import Answered, carry_out, facts_of, new_request, now
from gitops_bg.cli.options import App, AuthorOptions, LiveOptions, PatienceOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session import Session
from gitops_bg.cli.user_git import who
from gitops_bg.core.actions import label
from gitops_bg.core.observed import Verb


def abort(
    app: App,
    at: LiveOptions,
    person: AuthorOptions,
    patience: PatienceOptions,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why; it goes into the ledger.")] = "aborted by hand",
) -> None:
    """Abort a rollout: the candidate goes on hold, traffic stays or returns. Needs no Git; Git is told afterwards.

    Example: gitops-bg abort shop/web --reason 'errors on the preview'
    """
    output = Output(at.out)
    with Session(kube=at.kube, place=at.place) as session:
        key = session.app(app)
    with Offline(access(at.kube), key, now) as cluster:
        facts_of(cluster, key)
        request = new_request(Verb.ABORT, who(person.author), reason)
        answered = carry_out(cluster, request, patience, output)
    held = [hold.digest for hold in answered.after.holds if not answered.before.held(hold.digest)]
    if not held and answered.after.traffic == answered.before.traffic:
        raise NotSo(f"{key}: there was nothing to abort")
    output.both(
        {"app": str(key), "held": held, "live": _live(answered), "byAgent": answered.by_agent},
        f"{key}: aborted; live traffic goes to {_live(answered) or 'nothing'}",
    )


def _live(answered: Answered) -> str | None:
    version = answered.after.version(answered.after.traffic)
    return label(version.number, version.digest) if version else None
