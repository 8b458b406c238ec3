"""What can go wrong with a backend that is asked over HTTP."""


class MeasuringFailed(Exception):
    """The backend could not be asked, or its answer makes no sense: an error, neither good nor bad."""


class NoAnswer(Exception):
    """A REST API could not be asked, or its answer did not come whole. Whether a write came through is unknown."""
