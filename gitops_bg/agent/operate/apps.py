"""What somebody asks of an app over HTTP: planned first, so that it can be shown, then carried out, as the same commit
or request that the command line makes.

Every agent may be asked, also one that stands by: what it writes is a commit, or a request to whichever agent works.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.operate.asked import Answer, AppCommand, Asked, PlannedCommand, by_request, gate_command
from gitops_bg.agent.operate.at_forge import approval, demand_account, demand_nothing_beside, through_the_forge
from gitops_bg.agent.operate.commits import (
    CommitPlan,
    app_file,
    commit,
    in_app_files,
    lifting,
    resumed,
    resuming,
    retried,
    retry_of,
    retrying,
    suspended,
    suspending,
)
from gitops_bg.agent.operate.primary import (
    PrimaryPlan,
    changed_by,
    commit_or_offer,
    demand_candidate,
    demand_overridable,
    overridable_by,
    plan_promotion,
    plan_rollback,
)
from gitops_bg.agent.operate.requests import (
    abort_says,
    demand_abortable,
    new_request,
)
from gitops_bg.agent.reconcile.facts import Facts, gather
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.errors import CommandFailed, GitopsBgError, ObjectNotFound, WorldChanged
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import asking_branch
from gitops_bg.core.transitions.journal import aborting
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import is_commit_id
from gitops_bg.repo.write.main_branch import Edit
from gitops_bg.spec.app.layout import PRIMARY_FILE

_log = logging.getLogger(__name__)


class AppCommands:
    """Any thread may call it. It is a `CommandContext`: the agent's own caches and clone.

    ``asking`` reaches the live objects also where this agent stands by; ``pushed`` is called after each commit,
    ``clock`` gives UTC, ``pull_of`` knows the pull request of an app.
    """

    def __init__(
        self,
        catalog: Catalog,
        repository: Repository,
        cluster: Cluster,
        asking: Callable[[], Cluster],
        pushed: Callable[[], None],
        clock: Callable[[], datetime],
        pull_of: Callable[[AppKey], PullRequest | None] = lambda _: None,
    ) -> None:
        self._catalog = catalog
        self.repository = repository
        self.cluster = cluster
        self._asking = asking
        self._pushed = pushed
        self._clock = clock
        self._pull_of = pull_of

    @property
    def now(self) -> datetime:
        """The time, in UTC."""
        return self._clock()

    def facts(self, app: AppKey) -> Facts:
        """Return all facts about an app now, as this agent knows them. Raises ``ObjectNotFound``."""
        facts = gather(self._catalog, self.cluster, app, self.now) if self._catalog.cares_for(app) else None
        if facts is None:
            raise ObjectNotFound(f"neither main nor the cluster has an app {app}")
        return facts.with_others(self._catalog.board.others(facts.policies, app))

    def nudge(self, app: AppKey) -> None:
        """Have the agent that works look at Git now; the change is there either way."""
        self._pushed()
        try:
            self._asking().reconcile(app, self.now)
        except GitopsBgError:
            return

    def plan(self, app: AppKey, asked: Asked) -> PlannedCommand:
        """Return what would be done; nothing is done yet.

        Raises `ObjectNotFound`, `CommandFailed` where it makes no sense, `WorldChanged` where the app is not as it was
        when the person saw it, and the errors of Git and the cluster.
        """
        facts = self.facts(app)
        self._demand_as_seen(facts, asked)
        return replace(_PLANS[asked.command](self, facts, asked), head=facts.commit)

    def _demand_as_seen(self, facts: Facts, asked: Asked) -> None:
        """Raise `WorldChanged` where somebody changed the app's folder since."""
        if not asked.head or asked.head == facts.commit:
            return
        app, files = facts.app, self.repository.entries_of
        is_known = is_commit_id(asked.head) and self.repository.contains(asked.head)
        if not is_known or files([app], asked.head) != files([app], facts.commit):
            raise WorldChanged(f"{app}: somebody changed it in {self._branch} meanwhile; look at it again")

    @property
    def _branch(self) -> str:
        return self.repository.settings.branch

    # --- by a commit of primary.yaml ---

    def _promotion(self, facts: Facts, asked: Asked) -> PlannedCommand:
        world = facts.world(self.now)
        candidate = demand_candidate(world, force=False)
        if asked.digest not in ("", candidate.digest):
            raise WorldChanged(
                f"{facts.app}: the candidate is {candidate.name} by now; look at it before it is promoted"
            )
        policies = world.desired.policing.policies if world.desired.policing else ()
        overrides = demand_overridable(facts.app, policies, asked.overrides, asked.reason, asked.by.email, signed=False)
        by, reason = str(asked.by), asked.reason
        plan = plan_promotion(
            self, facts, world, candidate, by=by, reason=reason, overrides=overrides, requester=asked.by
        )
        planned = self._of_primary(facts, asked, plan)
        return replace(planned, overridable=overridable_by(asked.by.email, policies, overrides) if plan.waits else ())

    def _rollback(self, facts: Facts, asked: Asked) -> PlannedCommand:
        world, reason = facts.world(self.now), asked.reason or "rolled back by hand"
        plan = plan_rollback(self, facts, world, asked.version, by=str(asked.by), reason=reason, requester=asked.by)
        if asked.digest not in ("", plan.version.digest):
            raise WorldChanged(f"{facts.app}: the way back leads to {plan.version.name} by now; look at it again")
        return self._of_primary(facts, asked, plan)

    def _of_primary(self, facts: Facts, asked: Asked, plan: PrimaryPlan) -> PlannedCommand:
        """Return the command; ``asked.head`` is what it was decided from: who changed the app since, and changed it
        back, decided, too.
        """
        change = replace(plan.change, decided_from=asked.head or plan.change.decided_from)

        def carry_out() -> Answer:
            proposed = commit_or_offer(self.repository, change)
            self.nudge(facts.app)
            made = proposed.commit if proposed.changed or proposed.branch else ""
            says, pull = proposed.says(change, proposed.branch or self._branch), ""
            if plan.request is not None:
                says += self._asked_too(facts.app, plan.request)
            if proposed.branch:
                known = self._pull_of(facts.app)
                pull = known.url if known is not None and known.state is PullState.OPEN else ""
            answer = Answer(says=says, commit=made, branch=proposed.branch, pull=pull)
            title = f"{facts.app}: {asked.command} {plan.version.name}"
            files, nudge = {self.repository.path_of(facts.app, PRIMARY_FILE)}, partial(self.nudge, facts.app)
            return through_the_forge(answer, asked, self.repository, files=files, title=title, merged=nudge)

        changes = tuple(map(str, changed_by(facts, change)))
        return PlannedCommand(
            says=plan.says(self._branch),
            carry_out=carry_out,
            waits=plan.waits,
            changes=changes,
            digest=plan.version.digest,
        )

    def _asked_too(self, app: AppKey, request: Request) -> str:
        """Ask the agent that works for what belongs to a commit; return what is to be said if that fails: the commit is
        made all the same.
        """
        try:
            self._ask(app, request)
        except GitopsBgError as error:
            return f"; the agent could not be asked for what belongs to it: {error}"
        return ""

    # --- by a commit of app.yaml ---

    def _retry(self, facts: Facts, asked: Asked) -> PlannedCommand:
        request, shown = retry_of(facts.app, facts, facts.world(self.now), str(asked.by))
        edit, subject = retrying(self._file(facts.app), request), f"retry {shown}"
        return self._of_app_file(facts, asked, edit, subject, lambda made: retried(facts.app, shown, made))

    def _suspension(self, facts: Facts, asked: Asked) -> PlannedCommand:
        reason = asked.reason or "suspended by hand"
        suspension = Suspension(reason, str(asked.by), asked.until)
        edit = suspending(facts.app, self._file(facts.app), suspension, force=False)
        return self._of_app_file(facts, asked, edit, "suspend", lambda made: suspended(facts.app, made))

    def _resumption(self, facts: Facts, asked: Asked) -> PlannedCommand:
        lifted = lifting(facts, str(asked.by), self.now)
        edit = resuming(self._file(facts.app), lifted)
        return self._of_app_file(facts, asked, edit, "resume", lambda made: resumed(facts.app, made, lifted))

    def _file(self, app: AppKey) -> str:
        return app_file(self.repository, app)

    def _of_app_file(
        self, facts: Facts, asked: Asked, edit: Edit, subject: str, says: Callable[[str], str]
    ) -> PlannedCommand:
        app, repository = facts.app, self.repository
        plan: CommitPlan = in_app_files(repository, {app: edit}, subject, asked.reason, asked.by)
        if not repository.edits.changed(plan.edits, repository.head):
            raise CommandFailed(says(""))

        def carry_out() -> Answer:
            try:
                edited = commit(repository, plan)
            except PushRefused:
                if asked.account is None:
                    raise
                return self._offered_edit(app, asked, plan, says)
            self.nudge(app)
            made = edited.commit if edited.changed else ""
            return Answer(says=says(made), commit=made)

        return PlannedCommand(says=f"would commit to {self._branch}: {plan.subject}", carry_out=carry_out)

    def _offered_edit(self, app: AppKey, asked: Asked, plan: CommitPlan, says: Callable[[str], str]) -> Answer:
        """Commit on a branch of its own, which goes once the person has merged it, or no pull request is of it."""
        edits, environment = self.repository.edits, self.repository.places.environment_of(app)
        branch = asking_branch(app, ".".join(filter(None, (environment, asked.command))))
        edited = edits.offer(branch, plan.edits, plan.message, plan.requester)
        if not edited.changed:
            return Answer(says=says(""))
        asks = f"{app}: {branch} asks to {asked.command} by commit {edited.commit[:10]}"
        offered, nudge = Answer(says=asks, commit=edited.commit, branch=branch), partial(self.nudge, app)
        answer = through_the_forge(offered, asked, self.repository, files=plan.edits, title=plan.subject, merged=nudge)
        if not (answer.branch and answer.pull):
            self._withdraw(branch, edited.commit)
        if answer.branch and not answer.pull:
            raise CommandFailed(f"{answer.says}; its branch is gone again")
        return answer

    def _withdraw(self, branch: str, commit: str) -> None:
        """Delete a branch that nobody needs any more. One that stays is in nobody's way: the next such request takes
        its place.
        """
        try:
            self.repository.edits.withdraw(branch, commit)
        except GitopsBgError as error:
            _log.warning("%s stays: %s", branch, error)

    # --- by a review at the forge ---

    def _approval(self, facts: Facts, asked: Asked) -> PlannedCommand:
        app, account, promotion = facts.app, demand_account(asked), facts.observed.git.promotion
        candidate = facts.world(self.now).candidate
        if promotion is None or candidate is None:
            raise CommandFailed(f"{app}: no promotion waits for an approval")
        branch, repository = self.repository.branch_of(app), self.repository
        if promotion.digest != candidate.digest:
            raise WorldChanged(f"{app}: the candidate is {candidate.name} by now; look at it again, and approve that")
        if asked.digest not in ("", promotion.commit):
            raise WorldChanged(f"{app}: {branch} has another commit by now; look at it again, and approve that")
        if asked.command is AppCommand.APPROVE:
            demand_nothing_beside(branch, repository.extra_files_of_offer(app, promotion.commit), "approve")
        return approval(account, app, asked.command, branch, promotion.commit, candidate.name)

    # --- by a request to the agent that works ---

    def _abortion(self, facts: Facts, asked: Asked) -> PlannedCommand:
        app = facts.app
        found = demand_abortable(facts.record, app, aborting(facts.world(self.now)))
        about = [each.digest for each in found.stops]
        if asked.digest and asked.digest not in about:
            raise WorldChanged(f"{app}: what is on its way is another version by now; look at it again")
        reason = asked.reason or "aborted by hand"
        request = new_request(OperatorCommand.ABORT, str(asked.by), reason, about=about, live=found.live)
        return by_request(request, partial(self._ask, app), abort_says(app, found), digest=about[0])

    def _gate(self, facts: Facts, asked: Asked) -> PlannedCommand:
        manual = [hook for hook in facts.spec.strategy.hooks if hook.manual]
        ask = partial(self._ask, facts.app)
        return gate_command(facts.app, asked, manual, facts.record.hook_state, "app.yaml", ask)

    def _ask(self, app: AppKey, request: Request) -> None:
        self._asking().operator_requests.add(app, request)


_PLANS: dict[AppCommand, Callable[[AppCommands, Facts, Asked], PlannedCommand]] = {
    AppCommand.PROMOTE: AppCommands._promotion,
    AppCommand.ROLL_BACK: AppCommands._rollback,
    AppCommand.ABORT: AppCommands._abortion,
    AppCommand.RETRY: AppCommands._retry,
    AppCommand.SUSPEND: AppCommands._suspension,
    AppCommand.RESUME: AppCommands._resumption,
    AppCommand.OPEN_GATE: AppCommands._gate,
    AppCommand.CLOSE_GATE: AppCommands._gate,
    AppCommand.APPROVE: AppCommands._approval,
    AppCommand.WITHDRAW_APPROVAL: AppCommands._approval,
}
