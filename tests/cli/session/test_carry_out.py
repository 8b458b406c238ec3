"""How a command waits for its request: an agent that is there is waited for, and nobody acts beside it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options.options import OutputOptions, PatienceOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.operator_requests import carry_out
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from tests.core.worlds import NOW

MINE, OTHER, THIRD = "mine", "other", "third"
LOST = "lost"
WEB = AppKey("shop", "web")


@dataclass
class Cluster:
    """Shows one thing after the other; once nothing more happens, the time of every wait is over at once."""

    to_come: list[str]
    subject: AppKey = WEB
    record: Record = field(default_factory=Record)
    lost: bool = False
    acts: bool = True
    done: list[str] = field(default_factory=list)

    def ask(self, request: Request) -> None:
        self.done.append("asks")
        self.lost = False

    def is_lost(self, request: Request) -> bool:
        return self.lost

    def wait(self, fulfilled: Callable[[Record], bool], seconds: float) -> bool:
        while not fulfilled(self.record) and self.to_come:
            self._show(self.to_come.pop(0))
        return fulfilled(self.record)

    @property
    def act(self) -> Callable[..., bool] | None:
        return self._act if self.acts else None

    def _act(self, fulfilled: Callable[[Record], bool], seconds: float, tell: object) -> bool:
        self.done.append("acts")
        self._show(MINE)
        return fulfilled(self.record)

    def withdraw(self, request: Request) -> None:
        self.done.append("withdraws")

    def _show(self, what: str) -> None:
        if what == LOST:
            self.lost = True
        else:
            self.record = Record(operator=self.record.operator.answering(what))


HAPPENS = {
    "an agent answers": ([MINE], ["asks"], True),
    "nobody answers: this process acts": ([], ["asks", "acts"], False),
    "an agent answers others first, and is waited for": ([OTHER, THIRD, MINE], ["asks"], True),
    "an agent that answered another one, and then nothing: this process acts": ([OTHER], ["asks", "acts"], False),
    "another one is answered right after: it is done all the same": ([MINE, OTHER], ["asks"], True),
    "somebody overwrites it: it is asked again": ([LOST, OTHER, MINE], ["asks", "asks"], True),
}


@pytest.mark.parametrize("name", HAPPENS)
def test_a_command_is_done_where(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    to_come, done, by_agent = HAPPENS[name]
    cluster = Cluster(list(to_come))
    answered = carry_out(cluster, _mine(), PatienceOptions(), Output(OutputOptions()))  # type: ignore[arg-type]
    assert (cluster.done, answered.by_agent) == (done, by_agent)
    assert answered.after.operator.has_answered(MINE)


def test_a_request_that_only_an_agent_carries_out_waits_for_one() -> None:
    cluster = Cluster([], acts=False)
    with pytest.raises(CommandFailed, match="no agent answered within 3s; the request waits for one"):
        carry_out(cluster, _mine(), PatienceOptions(), Output(OutputOptions()))  # type: ignore[arg-type]
    assert cluster.done == ["asks"]


def _mine() -> Request:
    return Request(MINE, OperatorCommand.ABORT, "ada", NOW)
