"""A process that has run out of file descriptors says so; nothing ends, and nothing is lost."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from tests.attacks.conftest import Siege
from tests.support.waiting import eventually


@contextmanager
def no_descriptors() -> Iterator[None]:
    """No thread of this process opens a file, a socket or a pipe; those that are open stay."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_descriptors_that_run_out_are_said_and_come_back(siege: Siege) -> None:
    agent, web = siege.world.agent, siege.web
    assert agent is not None
    web.push_image("before")
    web.wait_offered("before")
    with no_descriptors():
        siege.world.wake()
        said = "there are no more file descriptors for this process: "
        eventually(lambda: said in agent.catalog.unreachable, what="the agent says what it lacks")
        agent.wake_all([web.key, siege.api.key])
    siege.world.wake()
    eventually(lambda: not agent.catalog.unreachable, what="Git is read again")
    web.push_image("after")
    web.wait_offered("after")
    siege.bystander_goes_on()
