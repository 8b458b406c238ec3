"""The errors of a backend that is called over HTTP."""


class MeasuringFailed(Exception):
    """The backend could not be reached, or its response is invalid: an error, neither good nor bad."""


class NoAnswer(Exception):
    """A REST API could not be reached, or its response was incomplete. Whether a write succeeded is unknown."""
