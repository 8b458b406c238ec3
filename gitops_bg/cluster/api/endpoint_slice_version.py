"""The version of EndpointSlice that a cluster serves: v1, or v1beta1 before Kubernetes 1.21. Asked once."""

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import ENDPOINT_SLICES, ENDPOINT_SLICES_BETA, Kind


class EndpointSliceVersion:
    """Called, it returns the kind of EndpointSlices. Raises `Transient` while the server does not respond."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kind: Kind | None = None

    def __call__(self) -> Kind:
        """The kind, asked of the server once and cached."""
        if self._kind is None:
            group = self._client.read("look for EndpointSlices", "/apis/discovery.k8s.io")
            served = {version["groupVersion"] for version in group["versions"]}
            self._kind = ENDPOINT_SLICES if ENDPOINT_SLICES.api_version in served else ENDPOINT_SLICES_BETA
        return self._kind
