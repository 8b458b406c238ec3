"""What belongs to an app and not to a version: its autoscaler, disruption budgets, untracked configuration. Nouns only.

Auxiliary objects follow Git at once, without any gate, as ``replicas`` does; where the autoscaler aims follows traffic
(docs/decisions/0014).
"""

from dataclasses import dataclass

CONFIGURATION = ("ConfigMap", "Secret")
"""The kinds of auxiliary objects that pods ask for by their names."""


@dataclass(frozen=True, slots=True, order=True)
class AuxiliaryObject:
    """One live object that accompanies an app, whatever version serves: its kind, and its name in the cluster."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """Who decides how many pods the live version has: the copy that is made of the one in Git, and its bounds."""

    copy: AuxiliaryObject
    minimum: int
    """0 is possible with KEDA: nothing runs while nothing is asked for."""
    maximum: int

    def within(self, pods: int) -> int:
        """As many pods, or as near to it as the bounds allow.

        >>> scaler = Autoscaler(AuxiliaryObject("HorizontalPodAutoscaler", "web-primary"), 2, 10)
        >>> scaler.within(0), scaler.within(5), scaler.within(50)
        (2, 5, 10)
        """
        return max(self.minimum, min(pods, self.maximum))
