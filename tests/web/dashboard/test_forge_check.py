"""People log in with an account that is none of the forge: the log says so, once main is known."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from gitops_bg.agent.operate.personal_forge import PersonalForge
from gitops_bg.core.errors import CommandFailed
from gitops_bg.core.model.version import AppKey
from gitops_bg.forge.adapters.rest_forge import RestForge
from gitops_bg.web.dashboard.app import _ForgeCheck
from tests.support.waiting import eventually

WEB = AppKey("shop", "web")
ISSUER = "https://id.example.com"


class Running:
    """An agent that has not read main yet."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.why = "people log in elsewhere"
        settings = SimpleNamespace(forge=None)
        self.catalog = SimpleNamespace(seen=False, reading=SimpleNamespace(settings_known=True, settings=settings))

    def account(self, _token: str, issuer: str) -> PersonalForge:
        def connect() -> RestForge:
            self.asked.append(issuer)
            if self.why:
                raise CommandFailed(self.why)
            forge: Any = SimpleNamespace(close_connections=lambda: None)
            return forge  # type: ignore[no-any-return]

        return PersonalForge(connect, "main")


def test_it_is_said_once_for_what_main_says_of_the_forge(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    running: Any = Running()
    check = _ForgeCheck(running, ISSUER)
    check(WEB)
    assert running.asked == [], "main was not read yet"
    running.catalog.seen = True
    for _ in range(3):
        check(WEB)
    said = "`forge: true` of the login file does not fit, nobody acts there: people log in elsewhere"
    eventually(lambda: caplog.messages == [said], what="it is said")
    assert running.asked == [ISSUER]
    running.why, running.catalog.reading.settings.forge = "", "another one"
    check(WEB)
    eventually(lambda: len(running.asked) == 2, what="it is looked at again")
    assert caplog.messages == [said]
