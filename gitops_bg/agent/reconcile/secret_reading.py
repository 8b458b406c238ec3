"""How hooks and metrics read Secrets: at the time of the call, with the remedy where the agent lacks the right."""

from collections.abc import Callable, Mapping

from gitops_bg.cluster.api.errors import NotFound
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.errors import Refused


def secret_reader(cluster: Cluster) -> Callable[[str, str], Mapping[str, bytes]]:
    """Return a function that reads the data of a Secret by namespace and name; a refusal names the missing right."""

    def read(namespace: str, name: str) -> Mapping[str, bytes]:
        try:
            return cluster.secret(namespace, name)
        except NotFound:
            raise
        except Refused as error:
            grant = f"bind the ClusterRole gitops-bg-secrets to it in namespace {namespace}"
            raise Refused(f"the agent may not read Secret {namespace}/{name}: {grant}; {error}") from error

    return read
