"""What the steps of this package know of an app or a release group, and what they ask of it.

What is asked while hooks begin stands apart: of an app that needs its gates, which need what hooks have said so far.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from gitops_bg.core.model.analysis.runs import AnalysisRun
from gitops_bg.core.model.hooks import Hook, HookRun, OpenGate


class HookSubject(Protocol):
    """An app or a release group: it answers in its own way, about a version by the digest that hooks are told."""

    def rollout(self, digest: str, /) -> int:
        """The number of the present try to promote a version."""
        ...

    def goes_forward(self, digest: str, /) -> bool:
        """Whether a version is on its way, and is neither the first one nor a way back."""
        ...

    def is_judged_live(self, digest: str, /) -> bool:
        """Whether a version serves, its analysis after promotion is not over, and it is not left anyway.

        What Git asks for meanwhile waits, so it still may be left. Who promotes another version while the analysis is
        paused has seen it.
        """
        ...

    def is_shown(self, digest: str, /) -> bool:
        """Whether who asks the preview gets no answer of another version."""
        ...

    def anew(self, digest: str, /) -> str:
        """What has hooks asked anew about a version, in words."""
        ...


class AskingSubject(HookSubject, Protocol):
    """The same while its hooks begin to be asked."""

    def is_ready(self, digest: str, /) -> bool:
        """Whether the pods of a version can be asked."""
        ...

    def is_in_preview(self, digest: str, /) -> bool:
        """Whether who asks the preview gets answers of all available pods of a version."""
        ...

    def has_passed_analysis(self, digest: str, /) -> bool:
        """Whether the analysis before promotion, where there is one, found nothing against a version."""
        ...

    def waits_only_for_hooks(self) -> bool:
        """Whether nothing else keeps traffic from moving to the version that Git promoted."""
        ...

    def counts(self, run: HookRun, /) -> bool:
        """Whether a run is about what is still asked for: else it is forgotten."""
        ...


S_co = TypeVar("S_co", bound=HookSubject, covariant=True)


@dataclass(frozen=True, slots=True)
class HookRound(Generic[S_co]):
    """The hooks of an app or a release group at one moment, with what decides whether they are asked."""

    of: S_co
    key: str
    """Its name on the command line."""
    now: datetime
    hooks: tuple[Hook, ...]
    """In the order of the file."""
    runs: tuple[HookRun, ...]
    """What they have answered, as the record has it."""
    epoch: str
    """What tells its calls from those of a record that was lost."""
    frozen: bool
    """Nothing that leads forward goes on, as during a suspension."""
    resumed_at: datetime | None
    """When the last suspension ended: deadlines begin anew then."""
    measured: AnalysisRun | None
    """The analysis before promotion, while it runs."""
    open_gates: tuple[OpenGate, ...] = ()
    """The manual gates that somebody opened."""
    incoming: str = ""
    """The version that Git names and live traffic has not reached: `confirm-promotion` hooks are asked once more, at
    the switch. Empty where nobody is asked twice.
    """
    in_full: str = ""
    """The version that somebody promoted by `promote --full`, without its checks."""
