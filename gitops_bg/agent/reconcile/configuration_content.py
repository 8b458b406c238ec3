"""Finds the content of the ConfigMaps and Secrets of a version, for the commit that names it in primary.yaml.

Git's files first, then the live copies, then main's history. None of it is logged.
"""

from collections.abc import Iterable, Iterator, Sequence

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.errors import Refused, Transient
from gitops_bg.core.model.actions import CommitPrimary, GitAction, OfferPromotion
from gitops_bg.core.model.version import AppKey, Version
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.manifests.configuration import Configuration, find
from gitops_bg.spec.manifests.configuration_changes import configuration_in


def contents_for(facts: Facts, actions: Iterable[GitAction], cluster: Cluster) -> tuple[Configuration, ...]:
    """The configuration of the versions that these actions name, as far as Git's files or the live copies have it."""
    named = [each.version for each in actions if isinstance(each, CommitPrimary | OfferPromotion)]
    return tuple(each for version in named for each in _at_hand(facts, version, cluster))


def _at_hand(facts: Facts, version: Version, cluster: Cluster) -> Iterator[Configuration]:
    for ref in version.snapshot.configuration:
        found = find(facts.config.configuration, ref)
        if found is None:
            try:
                found = cluster.held(facts.app, ref)
            except (Refused, Transient):
                continue  # Main's history may have it; where it has not, the commit says what is missing.
        yield found


def completed(
    repository: Repository, app: AppKey, version: Version, known: Sequence[Configuration]
) -> Sequence[Configuration]:
    """Complete the ``known`` configuration of a version with what main's primary.yaml once had."""
    if all(find(known, ref) for ref in version.snapshot.configuration):
        return known
    content = repository.find_primary(app, digest=version.digest)
    return (*known, *configuration_in(content or b"", app))
