"""What must hold, stated by itself: nothing here is imported from the engine's own invariants (DESIGN §5, I1–I7).

The books are the explorer's own: where traffic went, what was rolled back, what people asked for.
"""

from collections.abc import Callable

from gitops_bg.core.model import actions as act
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage
from gitops_bg.core.model.record import Event, LedgerEntry, Record, SwitchKind
from gitops_bg.core.model.statements import Cause, Says, holds
from gitops_bg.core.model.version import Stage
from tests.exploration.apps import handover
from tests.exploration.apps.passes import SIZE, digest, tag_of
from tests.exploration.world import Books, Cluster, Commit, Ledger, Main, Violation

MOVES = (Event.DEPLOYED, Event.PROMOTED, Event.ROLLED_BACK, Event.RELEASED)
BY_GIT = (Cause.ROLLED_BACK, Cause.TAKEN_BACK)
MILD = (Cause.EXPIRED, Cause.TAKEN_BACK, Cause.CLOSED)
"""They say nothing against the version itself."""
JUDGED = (Cause.ANALYSIS_FAILED, Cause.PODS_FAILED, Cause.LATE, Cause.JOB_FAILED)
"""Nobody decided so but the agent itself, from what it measured."""
CAUSES = (Event.ABORTED, Event.FAILED, Event.ANALYSED, Event.HELD)


def broken(promise: str) -> Violation:
    return Violation(promise)


# --- a record that is saved ---------------------------------------------------------------------------------


def goes_on_unread(before: Record, after: Record, cluster: Cluster) -> None:
    """Who cannot read main concludes nothing from that: a way back that is decided goes on."""
    switch, now = before.routing.switch, after.routing.switch
    if (
        switch is None
        or switch.withdrawn
        or switch.switch_kind is not SwitchKind.ROLLBACK
        or before.operator.request != after.operator.request
    ):
        return
    there, here = (cluster.available(tag_of(one)) for one in (switch.to_digest, switch.from_digest))
    given_up = after.routing.traffic == before.routing.traffic and (now is None or now.withdrawn)
    if given_up and there and there >= here:
        raise broken(f"the way back to {tag_of(switch.to_digest)} is given up by somebody who has not read main")


def saved(
    books: Books,
    before: Record,
    after: Record,
    cluster: Cluster,
    *,
    asked: bool,
    reverted: bool,
    later: frozenset[str],
    meant: frozenset[str] = frozenset(),
    ledger: Ledger | None = None,
    target: str = "",
) -> Books:
    """The books after a record was saved; ``asked``: an operator's request was answered in it.

    ``later``: versions that somebody wants by commits that the agent has not read; ``meant``: by commits later than
    what a revert of a promotion took back. ``ledger``: what it says where the record is gone.
    ``target``: what main's target names, as far as the agent has read it.
    """
    fresh = tuple(one for one in after.ledger if one.sequence > books.told)
    books = _ledger_tells_what_happened(books, before, after, fresh, cluster)
    _holds_stay(books, before, after)
    known = after.override and before.override and after.override.to_digest == before.override.to_digest
    if after.override and not known:
        told = frozenset(hold.digest for hold in holds(ledger.statements)) if ledger else frozenset()
        _has_a_cause(
            after,
            before,
            fresh,
            asked=asked,
            reverted=reverted or bool(told & {after.override.from_digest, after.routing.traffic}),
        )
        _is_no_whim(after, before, fresh, cluster, asked=asked, reverted=reverted)
    if target not in ("", "?"):
        books = books._replace(bad=books.bad - (books.mild & _passed_over(before, after, target)))
    if not books.live:  # No switch leaves what is held while nothing of the app serves.
        books = books._replace(left=books.left | {tag_of(hold.digest) for hold in after.holds})
    held = {tag_of(hold.digest) for hold in after.holds if hold.cause not in BY_GIT or tag_of(hold.digest) not in meant}
    held -= {tag_of(hold.digest) for hold in before.holds}
    if (
        asked
    ):  # Nobody can tell whether somebody merged it before an abort or after: no place to go back to, either way.
        books = books._replace(left=books.left | (held & later))
    judged = {tag_of(hold.digest) for hold in after.holds if hold.cause in JUDGED}
    if books.expect and books.expect[0] in held & judged:
        books = books._replace(expect=None)  # It failed by itself, later than somebody asked for it.
    held -= {""} if _comes_first(after) else {"", *later}
    if ledger:  # It gives these back.
        held -= {tag_of(hold.digest) for hold in holds(ledger.statements)}
    if held:
        mild = {tag_of(hold.digest) for hold in after.holds if hold.cause in MILD} & held - books.left
        books = books._replace(mild=books.mild - held | mild)
        books = books._replace(bad=books.bad | held, left=books.left | held)
        if asked:  # What Git put on hold in the same pass, Git may lift.
            by_git = {tag_of(hold.digest) for hold in after.holds if hold.cause in BY_GIT}
            books = books._replace(stopped=books.stopped | (held - by_git))
    return books


def _passed_over(before: Record, after: Record, target: str) -> frozenset[str]:
    """What was only taken back, or expired, until the target named another (decision 16)."""
    mild = frozenset(tag_of(hold.digest) for hold in before.holds if hold.cause in MILD)
    still = frozenset(tag_of(hold.digest) for hold in (*after.holds, *after.past_holds))
    return mild - still - {target}


def _comes_first(record: Record) -> bool:
    """Whether an emergency counts before what main shows next: nobody can tell which of the two is older."""
    return record.override is not None and record.override.awaits is not None


def _ledger_tells_what_happened(
    books: Books, before: Record, after: Record, fresh: tuple[LedgerEntry, ...], cluster: Cluster
) -> Books:
    """I4: one entry for each movement, in their order; also for one that somebody made by hand, when it was due."""
    owed, live, served, came = books.owed, books.live, books.served, books.came
    for entry in fresh:
        if entry.event in MOVES:
            told = (tag_of(entry.from_digest), tag_of(entry.to_digest))
            if not owed and live == told[0] and cluster.active == told[1] and told[0]:
                owed, live = (told,), told[1]
                served = (*(one for one in served if one != live), live)
                came = came if live in came else (*came, live)
            if not owed or owed[0] != told:
                raise broken(f"I4: the ledger tells of a movement that was not: {entry.event} {told[0]} -> {told[1]}")
            owed = owed[1:]
    if before.routing.switch and not after.routing.switch and owed and owed[-1] == (cluster.active, live):
        owed, live = owed[:-1], owed[-1][0]  # Somebody undid it before anybody looked again: it was none.
    books = books._replace(live=live, served=served, came=came)
    return books._replace(owed=owed, told=max([books.told, *(one.sequence for one in fresh)]))


def _holds_stay(books: Books, before: Record, after: Record) -> None:
    """What an operator stopped stays on hold until somebody says otherwise, or the target passes it over."""
    kept = {hold.digest for hold in (*after.holds, *after.past_holds) if hold.lifted in (None, Says.PASSED_OVER)}
    gone = {tag_of(hold.digest) for hold in before.holds if hold.digest not in kept and hold.cause not in MILD}
    for tag in sorted(gone & books.stopped):
        raise broken(f"the hold on {tag} is lifted, and nobody said so since it was put")


def _has_a_cause(after: Record, before: Record, fresh: tuple[LedgerEntry, ...], *, asked: bool, reverted: bool) -> None:
    """Every override has a visible cause: an operator, a revert in main, or a failure that the ledger tells."""
    override = after.override
    if override is None or (override.diverged and before.override):
        return
    held = before.held(override.from_digest) is not None
    told = held or any(one.event in CAUSES for one in fresh)
    if not override.reason or not (asked or reverted or told):
        raise broken(f"an override without a cause that anybody can see: to {tag_of(override.to_digest)}")


def _is_no_whim(
    after: Record,
    before: Record,
    fresh: tuple[LedgerEntry, ...],
    cluster: Cluster,
    *,
    asked: bool,
    reverted: bool,
) -> None:
    """By itself the agent goes back only from pods that fail, or from what failed its analysis, or its Jobs."""
    failed = any(
        run.phase in (AnalysisPhase.FAILED, AnalysisPhase.ERROR) for run in (*after.analyses.runs, *after.analyses.past)
    )
    # The Jobs of the next version begin in the same pass, and take the place of the run that failed.
    facts = {hold.digest for hold in (*after.holds, *after.past_holds) if hold.cause is Cause.JOB_FAILED}
    failed = failed or any(one.event is Event.ABORTED and one.to_digest in facts for one in fresh)
    healthy = cluster.available(tag_of(before.routing.traffic)) >= SIZE
    override = after.override
    if override and healthy and not (asked or reverted or failed or before.held(override.from_digest)):
        raise broken(f"traffic goes back to {tag_of(override.to_digest)} though nothing is wrong")


# --- a write that was carried out ---------------------------------------------------------------------------


def acted(
    action: act.Action,
    before: Cluster,
    after: Cluster,
    books: Books,
    record: Record,
    newest: Commit | None,
    main: Main,
    later: frozenset[str] = frozenset(),
) -> Books:
    """The books after one write to the cluster; ``newest``: the head of the newest main that any agent acted on."""
    if before.going and isinstance(action, act.ApplyApp | act.CreateReplicaSet | act.ApplyService):
        raise broken(f"{action}, for an owner that is going: it would go with it")
    handover.written(action, before, after)
    if isinstance(action, act.HandBack):
        return books._replace(live="", owed=(*books.owed, (books.live, "")), expect=None)
    if isinstance(action, act.SwitchTraffic):
        return _switched(action, before, books, record, newest, main, later)
    selected = before.active
    if selected:
        was, now = before.pods(selected), after.pods(selected)
        if was and (now is None or now.replicas < min(was.replicas, SIZE)):
            raise broken(f"I2: {action}, which live traffic goes to")
    leads = isinstance(action, act.ApplyService) and action.role == act.ServiceRole.ACTIVE
    if isinstance(action, act.RepairSelector) or (isinstance(action, act.ApplyService) and leads):
        tag = tag_of(action.digest)
        if books.owed[-1:] == ((tag, books.live),) and before.active != books.live:
            # Somebody undid a switch before anybody looked again: it was none.
            return books._replace(live=tag, owed=books.owed[:-1])
        if tag != books.live:
            raise broken(f"I7: {action}, though traffic was moved to {books.live or 'nothing'}")
    return books


def prepared(before: Cluster, after: Cluster, books: Books) -> None:
    """No pod of a version comes before its Jobs have ended well; one that served comes back without them."""
    for one in after.sets:
        was = before.pods(one.tag)
        if one.replicas > (was.replicas if was else 0) and one.tag not in books.prepared | set(books.served):
            raise broken(f"pods of {one.tag}, whose Jobs have not succeeded")


def contracted(cluster: Cluster, books: Books) -> Books:
    """The way back closes only when nothing that served before has pods; from then on nothing older comes back."""
    if books.closed.issuperset(books.came[: books.came.index(books.live)]):
        return books
    warm = [one.tag for one in cluster.sets if one.tag in books.served and one.tag != books.live and one.replicas]
    if warm:
        raise broken(f"the contract of {books.live} begins while {warm} may come back")
    return books._replace(closed=books.closed | set(books.came[: books.came.index(books.live)]))


def _switched(  # one promise after the other
    action: act.SwitchTraffic,
    before: Cluster,
    books: Books,
    record: Record,
    newest: Commit | None,
    main: Main,
    later: frozenset[str],
) -> Books:
    tag, left = tag_of(action.digest), books.live
    if before.available(tag) < before.available(left):
        raise broken(f"I1: {action}: {before.available(tag)} pods, while {before.available(left)} serve")
    if before.available(tag) == 0:
        raise broken(f"I1: {action}, which has no pods")
    if left and tag in books.closed:
        raise broken(f"{action}, which is older than a contract, and nobody forced it")
    if record.routing.switch is None or tag_of(record.routing.switch.to_digest) != tag:
        raise broken(f"{action}, which the record does not say: it was decided with old knowledge")
    named = any(commit.primary == tag for commit in main)
    if left and tag not in books.served and not named:
        raise broken(f"I3: {action}, which main never named and which never served")
    override = record.override is not None and tag_of(record.override.to_digest) == tag
    if left and not override and not (newest and newest.primary == tag):
        raise broken(f"{action}: neither the newest main that any agent has seen asks for it nor an emergency")
    if action.switch_kind is SwitchKind.ROLLBACK and tag in books.bad and not (newest and newest.primary == tag):
        raise broken(f"{action}: through no gate, to a version that was rolled back, failed or held")
    if left and action.switch_kind is not SwitchKind.ROLLBACK and tag in books.bad:
        raise broken(f"{action}: it was rolled back, failed or is held, and nobody said otherwise")
    if action.switch_kind is SwitchKind.PROMOTION and newest and (newest.suspended or newest.target == "?"):
        raise broken(f"{action}, though the app is {'suspended' if newest.suspended else 'invalid'}")
    back = action.switch_kind is SwitchKind.ROLLBACK and left not in ("", tag)
    bad = books.bad | ({left} if override and _comes_first(record) else {left} - later) if back else books.bad - {tag}
    gone = (books.left | {left} if back else books.left) - {tag}
    owed = books.owed if books.owed[-1:] == ((left, tag),) or left == tag else (*books.owed, (left, tag))
    served = (*(one for one in books.served if one != tag), tag)
    came = books.came if tag in books.came else (*books.came, tag)
    expect = books.expect
    if expect and expect[0] != tag and record.override and not record.override.by:
        expect = None  # An emergency that no person asked for came later.
    books = books._replace(
        live=tag, bad=bad, left=gone, mild=books.mild - {left, tag}, stopped=books.stopped - {tag}, owed=owed
    )
    return books._replace(served=served, came=came, expect=expect)


def committed(action: act.CommitPrimary, books: Books, retried: str) -> None:
    """What the agent promotes by itself: nothing that was rolled back, and no old tag."""
    tag = tag_of(action.version.digest)
    if action.event is not Event.PROMOTED:
        return
    if tag in books.bad:
        raise broken(f"the agent promotes {tag} by itself, which was rolled back, failed or is held")
    if tag in books.served and tag not in (books.live, retried):
        raise broken(f"the agent promotes {tag} by itself, an old tag that served before")


def offered(action: act.OfferPromotion, books: Books) -> None:
    """What the agent offers as a promotion is not on hold."""
    tag = tag_of(action.version.digest)
    if action.event is Event.PROMOTED and tag in books.bad and tag != books.live:
        raise broken(f"the agent offers {tag} for promotion, which was rolled back, failed or is held")


def published(action: act.PublishLedger, epoch: str, sequence: int) -> None:
    """I4: the ledger in Git has every entry."""
    last = sequence if epoch == action.epoch else 0
    numbers = [one.sequence for one in action.entries]
    if numbers != list(range(numbers[0], numbers[-1] + 1)) or numbers[0] > last + 1:
        raise broken(f"I4: the ledger in Git ends with entry {last}, and the next that it gets is {numbers[0]}")


def is_judged(record: Record, tag: str) -> bool:
    """Whether no analysis has anything against a version."""
    return all(run.phase is AnalysisPhase.SUCCESSFUL for run in record.analyses.runs if tag_of(run.digest) == tag)


# --- rest ---------------------------------------------------------------------------------------------------


def aborted(books: Books, before: Record, newest: Commit | None) -> Books:
    """What an operator has just stopped: what main asks for, and what does not serve yet."""
    if newest is None or before.override or not books.live:
        return books
    named = newest.primary not in ("", books.live)
    coming = newest.primary if named else newest.target
    known = before.version(digest(coming)) if coming not in ("", "?") else None
    if known is None or known.retiring or coming in (books.live, *books.served):
        return books
    if not named and known.stage is not Stage.CANDIDATE:
        return books  # The target went back to it since the operator asked: nothing of it was on its way then.
    return books._replace(bad=books.bad | {coming}, left=books.left | {coming}, mild=books.mild - {coming})


def told_all(record: Record, ledger: Ledger) -> None:
    """I4: at rest the ledger in Git has every entry that was made."""
    if ledger.epoch == record.epoch and ledger.sequence != record.sequence:
        raise broken(f"I4: {record.sequence} entries were made, and the ledger in Git ends with {ledger.sequence}")


def rests(
    head: Commit, cluster: Cluster, record: Record, books: Books, *, frozen: bool, can_run: Callable[[str], bool]
) -> None:
    """What must be true of a world that has come to rest, with Git and pods well."""
    live = tag_of(record.routing.traffic)
    if books.owed:
        raise broken(f"I4: the ledger never tells of the movement {books.owed[0][0]} -> {books.owed[0][1]}")
    if not cluster.exists:
        return
    if not frozen and live and cluster.active != live:
        raise broken(f"I7: the Service ends at {cluster.active!r}, the record at {live}")
    if live != books.live and books.live:
        raise broken(f"I7: the record says {live}, traffic was moved to {books.live}")
    if not frozen and record.override:
        raise broken(f"the override to {tag_of(record.override.to_digest)} never ends, though main takes commits")
    if (
        not frozen
        and head.primary
        and can_run(head.primary)
        and is_judged(record, head.primary)
        and live != head.primary
        and head.primary not in books.closed
    ):
        raise broken(f"the one rule: primary.yaml names {head.primary}, and traffic ends at {live or 'nothing'}")
    if not frozen and not live and head.target and can_run(head.target) and not head.primary and not record.holds:
        raise broken(f"the first version, {head.target}, never goes live")
    shown = cluster.pods(cluster.preview)
    if not frozen and cluster.preview and (shown is None or not shown.replicas):
        raise broken(f"the preview Service ends at {cluster.preview}, which has no pods")
    for run in record.analyses.runs:
        failed = tag_of(run.digest) if run.phase is AnalysisPhase.FAILED else ""
        if (
            failed
            and failed == head.target
            and failed != live
            and head.retry[0] != failed
            and not record.held(run.digest)
        ):
            raise broken(f"{failed} failed its analysis, and is not on hold")
    _leaves_what_failed(record, live, head, [one for one in books.served if can_run(one)], books)
    kept_away = books.expect and (books.expect[0] in books.closed or _awaits_retry(record, books.expect[0]))
    if books.expect and not frozen and live != books.expect[0] and not kept_away:
        raise broken(f"a revert ends with the old version and stays: {books.expect[1]}; it ended at {live}")


def _awaits_retry(record: Record, tag: str) -> bool:
    """Whether Jobs of a version have ended without success: it has no pods until somebody asks for a retry."""
    return any(run.bad or run.paused for run in _of(record, tag) if run.stage is AnalysisStage.BEFORE_PODS)


def _leaves_what_failed(record: Record, live: str, head: Commit, served: list[str], books: Books) -> None:
    """A version that fails its analysis after the promotion does not keep traffic, where another served well before."""
    failed = any(run.phase is AnalysisPhase.FAILED and run.stage is AnalysisStage.POST for run in _of(record, live))
    good = [one for one in served if one != live and one not in books.bad | books.left | books.closed]
    if failed and good and head.retry[0] != live:
        raise broken(f"{live} failed its analysis after the promotion, and stays live though {good[-1]} served well")


def _of(record: Record, tag: str) -> list[AnalysisRun]:
    return [run for run in record.analyses.runs if tag_of(run.digest) == tag]
