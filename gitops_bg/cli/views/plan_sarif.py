"""A plan as SARIF 2.1.0 (OASIS), which forges show beside the lines of a pull request. Pure; prints nothing.

A problem of a file is an error at its line; a shut gate is a note, or, if a policy shuts it, a warning at the policy.
An open gate is no result.
"""

import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from gitops_bg import __version__
from gitops_bg.cli.views.output import clean
from gitops_bg.cli.views.planned import Place, Planned, PlannedApp, until
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import APP_FILE, DEFAULT_TARGET_FILE, folder_of

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
PROBLEM = "problem"
_LEVELS = {PROBLEM: "error", "gate-policy": "warning"}
"""By rule; every other gate is a note: somebody, or time, opens it."""
_SAYS = {
    PROBLEM: "A file cannot be used as it is written; the last good state keeps serving.",
    "gate-policy": "A promotion policy keeps live traffic from moving.",
}


def sarif(planned: Planned) -> dict[str, Any]:
    """Return the log: one run with a result for each problem and each shut gate."""
    results = [result for each in planned.apps for result in _results(planned, each)]
    results = list({result["partialFingerprints"]["gitopsBg/v1"]: result for result in results}.values())
    rules = sorted({result["ruleId"] for result in results})
    for result in results:
        result["ruleIndex"] = rules.index(result["ruleId"])
    driver = {
        "name": "gitops-bg",
        "version": __version__,
        "rules": [_rule(name) for name in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "properties": {"commit": planned.commit},
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str) -> dict[str, Any]:
    said = _SAYS.get(name, f"The gate {name.removeprefix('gate-')} keeps live traffic from moving.")
    level = _LEVELS.get(name, "note")
    return {"id": name, "shortDescription": {"text": said}, "defaultConfiguration": {"level": level}}


def _results(planned: Planned, app: PlannedApp) -> Iterator[dict[str, Any]]:
    for problem in app.problems:
        yield _result(PROBLEM, _said(problem), problem.file, problem.line, problem.column)
    for gate in app.shut:
        place = planned.place_of(gate) or Place(_file_of(app, gate))
        yield _result(f"gate-{gate.kind}", f"{app.app}: {_why(gate)}", place.file, place.line)


def _said(problem: Problem) -> str:
    subject = f"{problem.field}: " if problem.field else ""
    return f"{subject}{problem.message}" + (f" ({problem.remedy})" if problem.remedy else "")


def _why(gate: GateResult) -> str:
    end, remedy = until(gate) if "until" not in gate.reason else "", gate.remedy
    return gate.reason + (f", until {end}" if end else "") + (f" ({remedy})" if remedy else "")


def _file_of(app: PlannedApp, gate: GateResult) -> str:
    """Return the file that the version comes from, or, for a suspension, the file that has it."""
    name = APP_FILE if gate.kind == GateKind.SUSPENSION else DEFAULT_TARGET_FILE
    return f"{app.folder or folder_of(app.app)}/{name}"


def _result(rule: str, said: str, file: str, line: int | None, column: int | None = None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(file)}}
    if line:
        physical["region"] = {"startLine": line} | ({"startColumn": column} if column else {})
    text = clean(said)
    fingerprint = hashlib.sha256("\0".join((rule, file, str(line), text)).encode()).hexdigest()
    return {
        "ruleId": rule,
        "level": _LEVELS.get(rule, "note"),
        "message": {"text": text},
        "locations": [{"physicalLocation": physical}],
        "partialFingerprints": {"gitopsBg/v1": fingerprint},
    }
