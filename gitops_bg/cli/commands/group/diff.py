"""`group diff`: the HTTPRoutes and Services that main asks for against those that are live. Writes nothing."""

from gitops_bg.cli.commands.group.arguments import Group
from gitops_bg.cli.exit_codes import NOT_SO, OK
from gitops_bg.cli.options.options import AppOptions
from gitops_bg.cli.session.group_session import group_facts, group_in_git
from gitops_bg.cli.session.location import group_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.route_differences import route_differences, service_differences
from gitops_bg.cli.views.output import Output
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.inspect.forecast import forecast


def diff(group: Group, at: AppOptions) -> int:
    """Compare the routes and Services that main asks for with those that are live; exit 1 where they differ.

    Example: gitops-bg group diff shop/store
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place, about=group_named(group), note=output.note) as session:
        facts = group_facts(session, group_in_git(session, group, at.place.namespace))
        if facts.desired.spec is None or facts.desired.is_last_valid:
            raise InvalidInput(*facts.desired.problems)
        decision = facts.decide(session.now)
        ahead = forecast(facts.group, facts.desired, facts.observed, decision.record, session.now)
    observed, routes = facts.observed, {route.name: route for route in ahead.routes}
    found = [*route_differences(observed.routes, routes), *service_differences(observed.services, ahead.services)]
    live, wanted = decision.record.state.only(VersionStage.ACTIVE), facts.desired.spec.active
    facts_of = {"group": str(facts.group), "live": live or None, "wanted": wanted}
    output.differences(found, f"{facts.group}: live is {live or 'nothing'}, main asks for {wanted}", facts_of)
    return NOT_SO if found else OK
