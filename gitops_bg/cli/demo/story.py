"""What a story of the demo is: where its repository lives, and one step after the other."""

from collections.abc import Callable, Mapping
from dataclasses import field

from gitops_bg.cli.demo.act import Act
from gitops_bg.cli.demo.hosting import CLUSTER, Hosting
from gitops_bg.cli.demo.scene import WEB
from gitops_bg.cli.demo.subject import Subject
from gitops_bg.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """A name for people, and the function to run; it raises ``NotAsExpected``, ``GitFailed`` or ``GiteaFailed``."""

    name: str
    play: Callable[[Act], None]


@dataclass(frozen=True, slots=True)
class Story:
    """A list of steps, played on its own scene."""

    title: str
    hosting: Hosting
    steps: tuple[Step, ...]
    subject: Subject = WEB
    clusters: Mapping[str, str] = field(default_factory=lambda: {CLUSTER: ""})
    """Each cluster with its environment; empty where the repository has none. The first is where times count."""
