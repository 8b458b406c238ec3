"""What ledgers say in tables: release ``n`` is the one that commit ``n`` brought; staging comes before prod."""

from dataclasses import replace

from gitops_bg.core.environments.proven import ClusterReport, EnvironmentInput, Former, KnownRelease, ProvenRelease
from gitops_bg.core.model.version import ReleaseId
from tests.core.worlds import EARLIER, NOW

HALF_AN_HOUR = 1800


def known(number: int, landed: int | None = None) -> KnownRelease:
    """Release ``number``, the one that the commit of the same number brought."""
    return KnownRelease(ReleaseId(number, f"r1:{number:064x}"), f"{number:040x}", landed or number)


def proof(number: int, seconds: int = HALF_AN_HOUR) -> ProvenRelease:
    release = known(number)
    return ProvenRelease(release.id, seconds, f"v1:{number:064x}", EARLIER, NOW, release.commit)


def report(*proven: ProvenRelease, serves: int = 0, cluster: str = "staging-1", trouble: str = "") -> ClusterReport:
    serving = known(serves) if serves else None
    return ClusterReport(
        cluster,
        proven,
        serving.id if serving else None,
        serving.commit if serving else "",
        EARLIER if serving else None,
        NOW,
        trouble,
    )


def prod(*reports: ClusterReport, entered: int = 0, releases: int = 5, **changes: object) -> EnvironmentInput:
    """prod, after half an hour in staging, of which these are the ledgers."""
    made = EnvironmentInput(
        "prod",
        formers=(Former("staging", HALF_AN_HOUR, reports),),
        known=tuple(known(number) for number in range(1, releases + 1)),
        entered=known(entered) if entered else None,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def held(number: int) -> tuple[tuple[str, str], ...]:
    return ((known(number).id.digest, "it was rolled back"),)
