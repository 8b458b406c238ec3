"""Who can mend a write that the API server refused, by the server's own words: a file's author, a quota, or a right.

The words are those of apiserver `pkg/api/errors`, of its admission plugins and of RBAC.
"""

from enum import StrEnum


class RefusalCause(StrEnum):
    """What the API server found wrong."""

    OBJECT = "object"
    """The object itself: a field that it does not have, or a value that it does not take."""
    POLICY = "policy"
    """A webhook or a policy of the cluster refuses what the file says."""
    QUOTA = "quota"
    OTHER = "other"
    """A right is missing, a namespace or a kind, or the object belongs to somebody else."""


_WORDS: tuple[tuple[RefusalCause, tuple[str, ...]], ...] = (
    (RefusalCause.QUOTA, ("exceeded quota", "must specify limits", "must specify requests")),
    (RefusalCause.POLICY, ("admission webhook", "violates PodSecurity", "ValidatingAdmissionPolicy")),
    (RefusalCause.OBJECT, (" 422 Invalid", " 400 BadRequest", "failed to create typed patch object")),
)


def cause_of(said: str) -> RefusalCause:
    """The cause of a refusal, in the words that `cluster.api.errors` gives it.

    >>> cause_of('apply services web: 422 Invalid: spec.ports[0].port: Invalid value: 0').value
    'object'
    >>> cause_of("the agent cannot create replicasets in namespace shop").value
    'other'
    """
    return next((cause for cause, words in _WORDS if any(each in said for each in words)), RefusalCause.OTHER)
