"""What people do to a simulated app, each time until nothing is left to do: the words that the engine's tables tell
their stories with.
"""

from gitops_bg.core.model.decision import Occurrence
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import LedgerEntry, Record
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.status.events import app_events
from tests.core.simulation import APP, Simulation, deployed, manual
from tests.core.worlds import NOW


def push(sim: Simulation, *tags: str) -> None:
    """Somebody pushes one tag after the other."""
    for tag in tags:
        sim.push(tag)
        sim.settle()


def merge(sim: Simulation) -> None:
    """Somebody merges the promotion branch."""
    sim.merge()
    sim.settle()


def promote(sim: Simulation, *tags: str) -> None:
    """Somebody pushes one tag after the other, and merges each."""
    for tag in tags:
        push(sim, tag)
        merge(sim)


def name(sim: Simulation, tag: str, subject: str = "promote") -> None:
    """Somebody commits this tag to primary.yaml."""
    sim.set_primary(tag, subject)
    sim.settle()


def revert(sim: Simulation) -> None:
    """Somebody reverts the last commit of primary.yaml."""
    sim.revert_promotion()
    sim.settle()


def retry(sim: Simulation) -> None:
    """Somebody retries what the target names."""
    sim.retry()
    sim.settle()


def ask(
    sim: Simulation, verb: OperatorCommand, to_version: int | None = None, gate: str = "", *, force: bool = False
) -> None:
    """Somebody asks by the command line."""
    sim.ask(verb, to_version, gate, force=force)
    sim.settle()


def suspend(sim: Simulation) -> None:
    """Somebody suspends the app."""
    sim.suspend()
    sim.settle()


def resume(sim: Simulation) -> None:
    """Somebody ends the suspension."""
    sim.resume()
    sim.settle()


def wait(sim: Simulation, **delta: float) -> None:
    """Time passes."""
    sim.later(**delta)
    sim.settle()


def lose_pods(sim: Simulation, tag: str) -> None:
    """The pods of a version fail, and none comes up again; nobody has looked since."""
    sim.bad_tags.add(tag)
    sim.pods_fail(tag)


def kubernetes_events(before: Record, after: Record) -> list[Occurrence]:
    """The Kubernetes Events between two records, besides those of the ledger."""
    happened = app_events(APP, before, after, NOW)
    return [one for one in happened if one.reason and not isinstance(one.fact, LedgerEntry)]


def step(sim: Simulation) -> list[str]:
    """One pass; the reasons of the Kubernetes Events that it writes besides those of the ledger."""
    before = sim.record
    sim.step()
    return [one.reason for one in kubernetes_events(before, sim.record)]


def coming(spec: AppSpec | None = None, tag: str = "2") -> Simulation:
    """Version 1 serves, the next one is on its way as far as it gets by itself."""
    sim = deployed(spec or manual())
    push(sim, tag)
    return sim


def promoted(spec: AppSpec | None = None, *tags: str) -> Simulation:
    """Version 1 served, then each of these, by default version 2."""
    sim = deployed(spec or manual())
    promote(sim, *(tags or ("2",)))
    assert sim.live == (tags or ("2",))[-1]
    return sim
