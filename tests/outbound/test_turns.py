"""Places are shared fairly: no subject takes all of them, and those that wait take turns."""

import asyncio
import doctest

import pytest

from gitops_bg.core.model.version import AppKey
from gitops_bg.outbound import turns
from gitops_bg.outbound.turns import Slots

A, B, C = (AppKey("shop", name) for name in "abc")


class Work:
    """Tasks that take a place each, and keep it until they are told to end."""

    def __init__(self, size: int, share: int) -> None:
        self.places = Slots(size, share)
        self.begun: list[AppKey] = []
        self.end = asyncio.Event()

    def start(self, *apps: AppKey) -> list[asyncio.Task[None]]:
        return [asyncio.get_running_loop().create_task(self._work(app)) for app in apps]

    async def _work(self, app: AppKey) -> None:
        async with self.places.place_for(app):
            self.begun.append(app)
            await self.end.wait()


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


CASES = {
    "one takes its share only": ((A, A, A, B), [A, A, B]),
    "all places, no more": ((A, A, B, B, C), [A, A, B, B]),
    "one alone": ((A,), [A]),
}


@pytest.mark.parametrize(("asked", "begun"), CASES.values(), ids=CASES)
def test_places_are_given_in_turn_up_to_a_share(asked: tuple[AppKey, ...], begun: list[AppKey]) -> None:
    async def run() -> None:
        work = Work(size=4, share=2)
        tasks = work.start(*asked)
        await _settled()
        assert work.begun == begun
        work.end.set()
        await asyncio.gather(*tasks)
        assert sorted(work.begun) == sorted(asked), "each gets its place in the end"

    asyncio.run(run())


def test_those_that_wait_take_turns() -> None:
    async def run() -> None:
        work = Work(size=1, share=1)
        tasks = work.start(A, A, A, B, C)
        await _settled()
        work.end.set()
        await asyncio.gather(*tasks)
        assert work.begun == [A, A, B, C, A]

    asyncio.run(run())


def test_a_task_that_is_ended_gives_its_place_back_whether_it_waited_for_it_or_had_it() -> None:
    async def run() -> None:
        work = Work(size=1, share=1)
        has, waits, last = work.start(A, A, B)
        await _settled()
        waits.cancel()
        await _settled()
        has.cancel()
        await _settled()
        assert work.begun == [A, B]
        last.cancel()
        given, after = work.start(A, C)
        await asyncio.sleep(0)
        given.cancel()
        await _settled()
        assert work.begun[-1] == C
        after.cancel()

    asyncio.run(run())


def test_examples_are_true() -> None:
    assert doctest.testmod(turns).failed == 0
