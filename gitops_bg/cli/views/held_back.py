"""What a pin holds back: the target that is not run as long as ``spec.revision`` names another version."""

from dataclasses import dataclass

from gitops_bg.core.model.actions import label
from gitops_bg.core.model.record import Record
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.app.load import AppConfig


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A target that is not run."""

    reason: str
    advice: str

    def __str__(self) -> str:
        return self.reason


def held_back(config: AppConfig, record: Record) -> HeldBack | None:
    """Return what the pin holds back, and how it comes to run; None where the target is run."""
    waiting, revision = config.held_back, config.spec.revision if config.spec else None
    if waiting is None or revision is None:
        return None
    digest = waiting.snapshot.digest
    known = record.version(digest)
    target = label(known.number if known else None, digest)
    reason = f"{config.target_file} says {target}, and spec.revision runs {revision} instead"
    return HeldBack(reason, f"to run what it says: remove revision from {config.folder}/{APP_FILE}")
