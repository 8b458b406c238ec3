"""What each verb prints with `-o json`, and the JSON Schemas of that."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import TypeAdapter, WithJsonSchema

from gitops_bg.cli.commands.inspect.check_report import ReportJson
from gitops_bg.spec.crd import DRAFT, Schema, plain
from gitops_bg.views.shapes import apps, decisions, environments, files, groups

AnySchema = Annotated[dict[str, Any], WithJsonSchema({"$ref": DRAFT})]

_VERBS: dict[str, Any] = {
    "init": files.FilesJson,
    "import": files.ImportedJson,
    "render": files.RenderedJson,
    "check": ReportJson,
    "adopt": files.AdoptedJson,
    "schema": files.FilesJson | AnySchema,
    "install": files.InstalledJson | files.ExportJson,
    "uninstall": files.UninstalledJson,
    "get": groups.ItemsJson | apps.TreesJson | apps.RowJson | apps.TreeJson,
    "tree": apps.TreesJson,
    "status": apps.StatusJson,
    "explain": apps.ExplanationJson,
    "plan": groups.PlanJson,
    "diff": apps.DiffJson | apps.EnvironmentsDiffJson,
    "history": apps.HistoryJson | apps.OverridesJson,
    "fleet": apps.FleetJson,
    "environments": environments.EnvironmentsJson,
    "where": environments.WhereJson,
    "logs": apps.LogsJson,
    "open": apps.AddressJson,
    "version": apps.ReleasesJson,
    "set-image": decisions.ImagesJson,
    "promote": decisions.ProposalJson | decisions.StaysLiveJson,
    "rollback": decisions.ProposalJson | decisions.OfflineJson,
    "undo": decisions.UndoneJson,
    "abort": decisions.AbortedJson,
    "retry": decisions.RetriedJson,
    "restart": decisions.RestartedJson,
    "resume": decisions.ResumedJson,
    "hold": environments.HeldReleaseJson,
    "enter": environments.EnteredJson,
    "suspend": decisions.SuspendedJson,
    "pause": decisions.SuspendedJson,
    "release": decisions.ReleasedJson,
    "move": files.MovedJson,
    "freeze": decisions.FreezeJson,
    "unfreeze": decisions.FreezeJson,
    "accept-history": decisions.AcceptedJson,
    "reconcile": decisions.ReconcileJson,
    "policies test": decisions.CasesJson,
    "policies replay": decisions.ReplayJson,
    "gate open": decisions.SetGateJson | decisions.SetGroupGateJson,
    "gate close": decisions.SetGateJson | decisions.SetGroupGateJson,
    "gate status": decisions.GatesJson | decisions.GroupGatesJson,
    "group get": groups.GroupsJson | groups.GroupTreesJson | groups.GroupRowJson | groups.GroupTreeJson,
    "group tree": groups.GroupTreesJson,
    "group explain": groups.GroupExplanationJson,
    "group plan": groups.PlanJson,
    "group diff": apps.GroupDiffJson,
    "group history": apps.GroupHistoryJson | apps.OverridesJson,
    "group new": files.NewGroupVersionJson,
    "group promote": decisions.GroupChangeJson,
    "group rollback": decisions.GroupChangeJson,
    "group delete": decisions.GroupChangeJson,
    "group abort": decisions.AbortedJson,
    "group retry": decisions.GroupChangeJson,
    "group suspend": decisions.GroupChangeJson,
    "group resume": decisions.GroupChangeJson,
    "group open-gate": decisions.SetGroupGateJson,
    "group close-gate": decisions.SetGroupGateJson,
    "group gates": decisions.GroupGatesJson,
}
"""Every object that a verb prints on stdout is of its shape; with ``-w`` each line is one."""
DRY_RUNS = (
    "set-image", "promote", "rollback", "undo", "retry", "restart", "resume", "suspend", "pause", "release",
    "freeze", "unfreeze", "accept-history", "gate open", "gate close", "group promote",
    "group rollback", "group delete", "group retry", "group suspend", "group resume", "group open-gate",
    "group close-gate",
)  # fmt: skip
"""The verbs that print one shape with ``--dry-run``; `abort`, `move` and `adopt` have shapes of their own."""
_VERBS |= {verb: _VERBS[verb] | decisions.DryRunJson for verb in DRY_RUNS}
_VERBS |= {verb: said | _VERBS[f"group {verb}"] for verb, said in _VERBS.items() if f"group {verb}" in _VERBS}
# A verb that is asked about a release group prints what the verb of groups prints.

ERROR, NOTE = "error", "note"
PRINTED: Mapping[str, Any] = {**_VERBS, ERROR: decisions.ErrorJson, NOTE: decisions.WarningJson}
"""The same, with what every verb prints on stderr."""


def printed_schema(name: str) -> Schema:
    """Return the JSON Schema of what a verb prints; ``error`` and ``note`` are those of stderr. Raises `KeyError`."""
    found = TypeAdapter(PRINTED[name]).json_schema(by_alias=True, mode="serialization")
    return {"$schema": DRAFT, "title": f"gitops-bg {name} -o json", **plain(found)}
