"""`gate open|close|status`: the manual gates of an app or a group: hooks of type confirm-* without an address."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gitops_bg.agent.operate.requests import gate_named, new_gate_request
from gitops_bg.agent.reconcile.offline import Offline
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.groups import Group
from gitops_bg.cli.options.options import AppOrGroup, AuthorOptions, LiveOptions, OutputOptions, PatienceOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.user_git import who
from gitops_bg.cli.session.live_session import access
from gitops_bg.cli.session.operator_requests import AskedObject, asked_group, carry_out, facts_of, now
from gitops_bg.cli.session.session import Session
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import HookState
from gitops_bg.spec.groups.load import manual_gates

if TYPE_CHECKING:
    from gitops_bg.views.shapes.decisions import GateJson


Reason = Annotated[str, typer.Option("--reason", "-r", "--message", "-m", help="Why; it goes into the ledger.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """Which gate, and why."""

    gate: Annotated[
        str,
        typer.Argument(
            metavar="GATE",
            help="Its name in app.yaml, or group.yaml; not needed where there is only one.",
            autocompletion=completion.gates,
        ),
    ] = ""
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class Gated:
    """A live app or release group with its manual gates."""

    kind: str
    """What it is, as a key of what is printed: ``app`` or ``group``."""
    file: str
    """Where its gates are written."""
    asked: AskedObject[Any]
    gates: tuple[Hook, ...]

    def __str__(self) -> str:
        return str(self.asked.subject)

    @property
    def state(self) -> HookState:
        """Which gates are open now."""
        state: HookState = self.asked.record.hook_state
        return state


def open_(
    app: AppOrGroup, gate: GateOptions, at: LiveOptions, person: AuthorOptions, patience: PatienceOptions
) -> None:
    """Open a manual gate. It stays open, also for later versions and across restarts, until somebody closes it.

    Example: gitops-bg gate open shop/web release --reason 'tested by QA'
    """
    with _app(at, app) as found:
        set_gate(found, OperatorCommand.OPEN_GATE, gate, at.out, person, patience)


def close(
    app: AppOrGroup, gate: GateOptions, at: LiveOptions, person: AuthorOptions, patience: PatienceOptions
) -> None:
    """Close a manual gate. What it has let through is not taken back; `gitops-bg abort` does that.

    Example: gitops-bg gate close shop/web release --reason 'change freeze'
    """
    with _app(at, app) as found:
        set_gate(found, OperatorCommand.CLOSE_GATE, gate, at.out, person, patience)


def status(app: AppOrGroup, at: LiveOptions) -> None:
    """Show the manual gates of an app, or a release group: open or closed, by whom, since when and why.

    Example: gitops-bg gate status shop/web
    """
    with _app(at, app) as found:
        show_gates(found, at.out)


def open_of_group(
    group: Group, gate: GateOptions, at: LiveOptions, person: AuthorOptions, patience: PatienceOptions
) -> None:
    """Open a manual gate of a group."""
    with _group(at, group) as found:
        set_gate(found, OperatorCommand.OPEN_GATE, gate, at.out, person, patience)


def close_of_group(
    group: Group, gate: GateOptions, at: LiveOptions, person: AuthorOptions, patience: PatienceOptions
) -> None:
    """Close a manual gate of a group."""
    with _group(at, group) as found:
        set_gate(found, OperatorCommand.CLOSE_GATE, gate, at.out, person, patience)


def status_of_group(group: Group, at: LiveOptions) -> None:
    """Show the manual gates of a group."""
    with _group(at, group) as found:
        show_gates(found, at.out)


@contextmanager
def _app(at: LiveOptions, name: str) -> Iterator[Gated]:
    with Session(kube=at.kube, place=at.place) as session:
        key = session.app(name)
    with Offline(access(at.kube), key, now) as cluster:
        hooks = facts_of(cluster, key).spec.strategy.hooks
        yield Gated("app", "app.yaml", cluster, tuple(hook for hook in hooks if hook.manual))


@contextmanager
def _group(at: LiveOptions, name: str) -> Iterator[Gated]:
    with asked_group(at, name) as asked:
        yield Gated("group", "group.yaml", asked, manual_gates(asked.spec))


def show_gates(found: Gated, out: OutputOptions) -> None:
    """Print the manual gates of an app or a release group."""
    output = Output(out)
    gates = [_described(hook, found.state) for hook in found.gates]
    if output.json:
        output.data({found.kind: str(found), "gates": gates})
        return
    for gate in gates or ():
        output.line(_sentence(gate))
    if not gates:
        output.line(f"{found} has no manual gate: {_HOW}")


def set_gate(
    found: Gated,
    verb: OperatorCommand,
    gate: GateOptions,
    out: OutputOptions,
    person: AuthorOptions,
    patience: PatienceOptions,
) -> None:
    """Open or close a manual gate of an app or a release group, and print what became of it."""
    output = Output(out, dry_run=person.dry_run)
    hook = gate_named(found, found.gates, gate.gate, found.file)
    key, by = str(found), who(person.author)
    if (verb is OperatorCommand.OPEN_GATE) == (found.state.gate(hook.name) is not None):
        described = _described(hook, found.state)
        output.both({found.kind: key, **described, "changed": False}, f"{key}: {_sentence(described, ' already')}")
        return
    verb_said = "open" if verb is OperatorCommand.OPEN_GATE else "close"
    output.would(f"{key}: would {verb_said} the gate {hook.name}")
    answered = carry_out(found.asked, new_gate_request(verb, by, gate.reason, hook.name), patience, output)
    described = _described(hook, answered.after.hook_state)
    result = {found.kind: key, **described, "changed": True, "byAgent": answered.by_agent}
    output.both(result, f"{key}: {_sentence(described)}")


_HOW = "a webhook of type confirm-rollout or confirm-promotion without url"


def _described(hook: Hook, state: HookState) -> "GateJson":
    opened = state.gate(hook.name)
    return {
        "gate": hook.name,
        "type": hook.type,
        "open": opened is not None,
        "by": opened.by if opened else None,
        "at": opened.at.isoformat(timespec="seconds") if opened else None,
        "reason": opened.reason if opened else None,
    }


def _sentence(gate: "GateJson", already: str = "") -> str:
    if not gate["open"]:
        return f"gate {gate['gate']} ({gate['type']}) is closed{already}"
    because = f": {gate['reason']}" if gate["reason"] else ""
    return f"gate {gate['gate']} ({gate['type']}) is open{already}, by {gate['by']} at {gate['at']}{because}"
