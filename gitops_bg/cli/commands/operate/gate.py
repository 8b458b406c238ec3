"""`gate open|close|status`: the manual gates of an app: hooks of type confirm-* without an address."""

from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.offline import Offline
from gitops_bg.cli.clone.user_git import who
from gitops_bg.cli.errors import ObjectNotFound
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.options import App, AuthorOptions, LiveOptions, PatienceOptions
from gitops_bg.cli.session.live_session import access
from gitops_bg.cli.session.operator_requests import carry_out, facts_of, new_gate_request, now
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.output import Output
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Record

if TYPE_CHECKING:
    from gitops_bg.cli.printed.changes import GateJson

Name = Annotated[
    str,
    typer.Argument(
        metavar="GATE",
        help="Its name in app.yaml; not needed where there is only one.",
        autocompletion=completion.gates,
    ),
]
Reason = Annotated[str, typer.Option("--reason", "-r", "--message", "-m", help="Why; it goes into the ledger.")]


def open_(
    app: App,
    at: LiveOptions,
    person: AuthorOptions,
    patience: PatienceOptions,
    gate: Name = "",
    reason: Reason = "",
) -> None:
    """Open a manual gate. It stays open, also for later versions and across restarts, until somebody closes it.

    Example: gitops-bg gate open shop/web release --reason 'tested by QA'
    """
    _set(OperatorCommand.OPEN_GATE, app, gate, reason, at, person, patience)


def close(
    app: App,
    at: LiveOptions,
    person: AuthorOptions,
    patience: PatienceOptions,
    gate: Name = "",
    reason: Reason = "",
) -> None:
    """Close a manual gate. What it has let through is not taken back; `gitops-bg abort` does that.

    Example: gitops-bg gate close shop/web release --reason 'change freeze'
    """
    _set(OperatorCommand.CLOSE_GATE, app, gate, reason, at, person, patience)


def status(app: App, at: LiveOptions) -> None:
    """Show the manual gates of an app: open or closed, by whom, since when and why.

    Example: gitops-bg gate status shop/web
    """
    output = Output(at.out)
    with Session(kube=at.kube, place=at.place) as session:
        key = session.app(app)
    with Offline(access(at.kube), key, now) as cluster:
        gates = [_described(hook, cluster.record) for hook in _gates(facts_of(cluster, key))]
    if output.json:
        output.data({"app": str(key), "gates": gates})
        return
    for gate in gates or ():
        output.line(_sentence(gate))
    if not gates:
        output.line(f"{key} has no manual gate: a webhook of type confirm-rollout or confirm-promotion without url")


def _set(
    verb: OperatorCommand,
    app: str,
    gate: str,
    reason: str,
    at: LiveOptions,
    person: AuthorOptions,
    patience: PatienceOptions,
) -> None:
    output = Output(at.out, dry_run=person.dry_run)
    by = who(person.author)
    with Session(kube=at.kube, place=at.place) as session:
        key = session.app(app)
    with Offline(access(at.kube), key, now) as cluster:
        hook = _named(facts_of(cluster, key), gate)
        if (verb is OperatorCommand.OPEN_GATE) == (cluster.record.gate(hook.name) is not None):
            described = _described(hook, cluster.record)
            output.both({"app": str(key), **described, "changed": False}, f"{key}: {_sentence(described, ' already')}")
            return
        verb_said = "open" if verb is OperatorCommand.OPEN_GATE else "close"
        output.would(f"{key}: would {verb_said} the gate {hook.name}")
        answered = carry_out(cluster, new_gate_request(verb, by, reason, hook.name), patience, output)
    described = _described(hook, answered.after)
    result = {"app": str(key), **described, "changed": True, "byAgent": answered.by_agent}
    output.both(result, f"{key}: {_sentence(described)}")


def _gates(facts: Facts) -> list[Hook]:
    return [hook for hook in facts.spec.strategy.hooks if hook.manual]


def _named(facts: Facts, name: str) -> Hook:
    """Return the gate of this name, or the only one. Raises `ObjectNotFound`."""
    gates = _gates(facts)
    names = ", ".join(hook.name for hook in gates)
    if not gates:
        raise ObjectNotFound(
            f"{facts.app} has no manual gate; one is a webhook of type confirm-* without url in app.yaml"
        )
    found = [hook for hook in gates if hook.name == name or (not name and len(gates) == 1)]
    if not found and name:
        raise ObjectNotFound(f"{facts.app} has no gate {name}; it has: {names}")
    if not found:
        raise ObjectNotFound(f"{facts.app} has several gates; say which one: {names}")
    return found[0]


def _described(hook: Hook, record: Record) -> "GateJson":
    opened = record.gate(hook.name)
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
