"""The condition of an app that cannot be looked at: it says what to do about it."""

from gitops_bg.core.errors import InternalError
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.internal_error import RecordUnreadable, internal_error

APP = AppKey("shop", "web")


def test_a_bug_is_to_be_reported():
    told = internal_error(APP, InternalError("KeyError: 'a'"))
    assert (told.type, told.status, told.reason) == ("InternalError", True, "InternalError")
    assert told.message == "KeyError: 'a'. The agent tries again; report it, with the traceback in its log"


def test_a_record_that_nobody_can_read_has_the_command_that_makes_it_anew():
    told = internal_error(APP, RecordUnreadable("its epoch is no text"))
    assert (told.type, told.status, told.reason) == ("InternalError", True, "RecordUnreadable")
    assert "kubectl patch bgd web -n shop --subresource=status --type=merge" in told.message
    assert """'{"status":{"record":null}}'""" in told.message
