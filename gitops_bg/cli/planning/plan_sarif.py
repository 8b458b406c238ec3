"""A plan as SARIF, which forges show beside the lines of a pull request. Pure; prints nothing.

A problem of a file is an error at its line; a shut gate is a note, or, if a policy shuts it, a warning at the policy.
An open gate is no result.
"""

from collections.abc import Iterator

from gitops_bg.cli.planning.planned import Place, Planned, PlannedApp, until
from gitops_bg.cli.views.sarif import Log, SarifResult, SarifRule, log_of
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import APP_FILE, DEFAULT_TARGET_FILE, folder_of
from gitops_bg.spec.lint.finding import PROBLEM

_INVALID = SarifRule(PROBLEM.name, "error", PROBLEM.says)
_REFUSED = SarifRule("refused", "error", "The cluster does not take what the plan would do.")
_POLICY = SarifRule("gate-policy", "warning", "A promotion policy keeps live traffic from moving.")


def sarif(planned: Planned) -> Log:
    """Return the log: one run with a result for each problem and each shut gate."""
    return log_of((result for each in planned.apps for result in _results(planned, each)), {"commit": planned.commit})


def _results(planned: Planned, app: PlannedApp) -> Iterator[SarifResult]:
    for problem in app.problems:
        yield SarifResult(_INVALID, problem_text(problem), problem.file, problem.line, problem.column)
    if app.refused:
        yield SarifResult(_REFUSED, f"{app.app}: {app.refused}", _file_in(app, APP_FILE))
    for gate in app.shut:
        place = planned.place_of(gate) or Place(_file_of(app, gate))
        yield SarifResult(_rule(gate), f"{app.app}: {_why(gate)}", place.file, place.line)


def _rule(gate: GateResult) -> SarifRule:
    """The rule of a shut gate: a note, as somebody, or time, opens it, unless a policy shuts it."""
    if gate.kind == GateKind.POLICY:
        return _POLICY
    return SarifRule(f"gate-{gate.kind}", "note", f"The gate {gate.kind} keeps live traffic from moving.")


def problem_text(problem: Problem) -> str:
    """Return a problem without its place: the field, what is wrong, and the remedy."""
    subject = f"{problem.field}: " if problem.field else ""
    return f"{subject}{problem.message}" + (f" ({problem.remedy})" if problem.remedy else "")


def _why(gate: GateResult) -> str:
    end, remedy = until(gate) if "until" not in gate.reason else "", gate.remedy
    return gate.reason + (f", until {end}" if end else "") + (f" ({remedy})" if remedy else "")


def _file_of(app: PlannedApp, gate: GateResult) -> str:
    """Return the file that the version comes from, or, for a suspension, the file that has it."""
    return _file_in(app, APP_FILE if gate.kind == GateKind.SUSPENSION else DEFAULT_TARGET_FILE)


def _file_in(app: PlannedApp, name: str) -> str:
    return f"{app.folder or folder_of(app.app)}/{name}"
