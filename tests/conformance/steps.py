"""What users and nodes do in the scenarios, beside what every `App` can do: abort, retry, suspend, pods up and down."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

from gitops_bg.cluster.status import record_in, rollout_of
from gitops_bg.core import names
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.version import short
from tests.support.cluster.paths import pods
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App

_IDS = itertools.count(1)


def abort(app: App, reason: str = "smells") -> None:
    """`gitops-bg abort`."""
    app.ask(Request(f"abort-{next(_IDS)}", OperatorCommand.ABORT, "ada", datetime.now(UTC), reason))


def promote_full(app: App) -> None:
    """`gitops-bg promote --full`."""
    app.ask(Request(f"full-{next(_IDS)}", OperatorCommand.PROMOTE_FULL, "ada", datetime.now(UTC)))


def retry(app: App, tag: str) -> None:
    """`gitops-bg retry` of a tag."""
    number = app.spec.get("retry", {}).get("number", 0) + 1
    app.spec["retry"] = {"digest": app.digest(tag), "number": number, "by": "ada", "after": app.record.sequence}
    app.configure()


def suspend(app: App) -> None:
    """`gitops-bg suspend`, and wait until it is known."""
    app.spec["suspend"] = {"reason": "freeze", "by": "ada"}
    app.configure()
    app.wait_condition("Suspended")


def resume(app: App) -> None:
    """`gitops-bg resume` of a suspended app."""
    del app.spec["suspend"]
    app.configure()
    app.wait_condition("Suspended", "Absent")


def wait_pods(app: App, tag: str, count: int = 2) -> None:
    """Wait until a tag has so many pods, and each is known to its node."""
    app.wait(
        lambda: sum("podIP" in pod.get("status", {}) for pod in _pods(app, tag)) == count, f"{tag} has {count} pods"
    )


def set_ready(app: App, tag: str, ready: bool) -> None:
    """Have the pods of a tag get ready, whatever their image, or become unready."""
    app.scenario.cluster.set_ready(app.key.namespace, {names.DIGEST: short(app.digest(tag))}, ready)


def come_up(app: App, tag: str, count: int = 2) -> None:
    """Have the pods of a tag that cannot run get ready after all."""
    wait_pods(app, tag, count)
    set_ready(app, tag, True)


def go_down(app: App, tag: str) -> None:
    """Have the pods of a tag become unready, and wait until it shows."""
    set_ready(app, tag, False)
    app.wait(lambda: app.versions()[tag].available == 0, f"no pod of {tag} is available")


def sizes(app: App) -> dict[str, int]:
    """The replicas that each tag is to have."""
    return {tag: version.replicas for tag, version in app.versions().items()}


def wait_sizes(app: App, **expected: int) -> None:
    """Wait until every tag has its replicas."""
    app.wait(lambda: sizes(app) == expected, f"replicas {expected}")


def rollouts(app: App) -> list[Json]:
    """The rollouts that the record remembers, newest first, each as the status shows the last ones."""
    status = app.status
    remembered: list[Json] = [rollout_of(each).stored() for each in reversed(record_in(status).rollouts)]
    assert all(each in remembered for each in status.get("rollouts") or []), "the status shows what is remembered"
    return remembered


def seconds_of(rollout: Json) -> float:
    """How long a rollout took that is over."""
    begun, ended = (datetime.fromisoformat(rollout[each]) for each in ("startedAt", "finishedAt"))
    return (ended - begun).total_seconds()


def _pods(app: App, tag: str) -> list[Json]:
    return app.scenario.cluster.list(pods(app.key.namespace), labelSelector=f"{names.DIGEST}={short(app.digest(tag))}")
