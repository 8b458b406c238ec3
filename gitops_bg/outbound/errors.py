"""The errors of a backend that is called over HTTP."""

from collections.abc import Callable

from gitops_bg.outbound.quoting import quoted


class MeasuringFailed(Exception):
    """The backend could not be reached, or its response is invalid: an error, neither good nor bad."""

    def __init__(self, sentence: str, words: str = "") -> None:
        """``words`` are the backend's own, whole: `told` hides secrets in them before it cuts them."""
        super().__init__(sentence)
        self.words = words

    def __str__(self) -> str:
        return self.told(str)

    def told(self, clean: Callable[[str], str]) -> str:
        """Return the error as it is shown, after ``clean`` has hidden the secrets in it."""
        sentence, words = clean(str(self.args[0])), quoted(self.words, clean)
        return f"{sentence}: {words}" if words else sentence


class NoAnswer(Exception):
    """A REST API could not be reached, or its response was incomplete. Whether a write succeeded is unknown."""
