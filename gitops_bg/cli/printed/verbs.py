"""What each verb prints with `-o json`, and the JSON Schemas of that."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import TypeAdapter, WithJsonSchema

from gitops_bg.cli.commands.inspect.check_report import ReportJson
from gitops_bg.cli.printed import apps, changes, groups, plans
from gitops_bg.spec.json_schema import DRAFT, Schema, plain

AnySchema = Annotated[dict[str, Any], WithJsonSchema({"$ref": DRAFT})]

_VERBS: dict[str, Any] = {
    "init": changes.FilesJson,
    "import": changes.ImportedJson,
    "render": changes.RenderedJson,
    "check": ReportJson,
    "adopt": changes.AdoptedJson,
    "schema": changes.FilesJson | AnySchema,
    "install": changes.InstalledJson | changes.ExportJson,
    "uninstall": changes.UninstalledJson,
    "get": groups.ItemsJson | apps.TreesJson | apps.RowJson | apps.TreeJson,
    "tree": apps.TreesJson,
    "status": apps.StatusJson,
    "explain": apps.ExplanationJson,
    "plan": plans.PlanJson,
    "diff": apps.DiffJson,
    "history": apps.HistoryJson | apps.OverridesJson,
    "set-image": changes.ImagesJson,
    "promote": changes.ProposalJson | changes.StaysLiveJson,
    "rollback": changes.ProposalJson | changes.OfflineJson,
    "undo": changes.UndoneJson,
    "abort": changes.AbortedJson,
    "retry": changes.RetriedJson,
    "restart": changes.RestartedJson,
    "resume": changes.ResumedJson,
    "suspend": changes.SuspendedJson,
    "pause": changes.SuspendedJson,
    "release": changes.ReleasedJson,
    "move": changes.MovedJson,
    "freeze": changes.FreezeJson,
    "unfreeze": changes.FreezeJson,
    "accept-history": changes.AcceptedJson,
    "reconcile": changes.ReconcileJson,
    "policies test": changes.CasesJson,
    "policies replay": changes.ReplayJson,
    "gate open": changes.SetGateJson | groups.SetGroupGateJson,
    "gate close": changes.SetGateJson | groups.SetGroupGateJson,
    "gate status": changes.GatesJson | groups.GroupGatesJson,
    "group get": groups.GroupsJson | groups.GroupTreesJson | groups.GroupRowJson | groups.GroupTreeJson,
    "group tree": groups.GroupTreesJson,
    "group explain": groups.GroupExplanationJson,
    "group plan": plans.PlanJson,
    "group diff": apps.GroupDiffJson,
    "group history": apps.GroupHistoryJson | apps.OverridesJson,
    "group new": groups.NewGroupVersionJson,
    "group promote": groups.GroupChangeJson,
    "group rollback": groups.GroupChangeJson,
    "group delete": groups.GroupChangeJson,
    "group abort": changes.AbortedJson,
    "group retry": groups.GroupChangeJson,
    "group suspend": groups.GroupChangeJson,
    "group resume": groups.GroupChangeJson,
    "group open-gate": groups.SetGroupGateJson,
    "group close-gate": groups.SetGroupGateJson,
    "group gates": groups.GroupGatesJson,
}
"""Every object that a verb prints on stdout is of its shape; with ``-w`` each line is one."""
DRY_RUNS = (
    "set-image", "promote", "rollback", "undo", "retry", "restart", "resume", "suspend", "pause", "release",
    "freeze", "unfreeze", "accept-history", "gate open", "gate close", "group promote",
    "group rollback", "group delete", "group retry", "group suspend", "group resume", "group open-gate",
    "group close-gate",
)  # fmt: skip
"""The verbs that print one shape with ``--dry-run``; `abort`, `move` and `adopt` have shapes of their own."""
_VERBS |= {verb: _VERBS[verb] | changes.DryRunJson for verb in DRY_RUNS}
_VERBS |= {verb: said | _VERBS[f"group {verb}"] for verb, said in _VERBS.items() if f"group {verb}" in _VERBS}
# A verb that is asked about a release group prints what the verb of groups prints.

ERROR, NOTE = "error", "note"
PRINTED: Mapping[str, Any] = {**_VERBS, ERROR: changes.ErrorJson, NOTE: changes.NoteJson}
"""The same, with what every verb prints on stderr."""


def printed_schema(name: str) -> Schema:
    """The JSON Schema of what a verb prints; ``error`` and ``note`` are those of stderr. Raises `KeyError`."""
    found = TypeAdapter(PRINTED[name]).json_schema(by_alias=True, mode="serialization")
    return {"$schema": DRAFT, "title": f"gitops-bg {name} -o json", **plain(found)}
