"""The mirror's git configuration: written whole at every start, so that no other setting survives in it."""

from gitops_bg.core.names import PROMOTION_PREFIXES
from gitops_bg.repo.layout import TRACKING_PREFIX
from gitops_bg.repo.settings import RepositorySettings

PARTIAL = ("-c", "remote.origin.promisor=true", "-c", "remote.origin.partialclonefilter=blob:none")
"""For commands that may deal with a partial clone: fetch, fsck.

The file leaves it out, so that every other command reports a missing blob instead of fetching blobs from the remote one
by one (gitops.md §1.1).
"""


def configuration(settings: RepositorySettings, url: str) -> str:
    """The text of the mirror's ``config``."""
    sections = {
        "core": {
            "repositoryformatversion": "0",
            "bare": "true",
            "hooksPath": "/dev/null",
            "fsmonitor": "false",
            "attributesFile": "/dev/null",
            "quotePath": "false",
            "logAllRefUpdates": "false",
            # Larger files are never read here: git is to pass them through instead of holding them.
            "bigFileThreshold": "1m",
            "deltaBaseCacheLimit": "16m",
        },
        "gc": {"auto": "0"},
        # What the remote has is marked by folder, not by path: there may be any number of paths (`trees`).
        "pack": {"useSparse": "false", "threads": "2", "windowMemory": "32m", "deltaCacheSize": "16m"},
        "maintenance": {"auto": "false"},
        # Walks over the history read parents and folders from the graph: a commit's message may have any length.
        "fetch": {"writeCommitGraph": "true", "recurseSubmodules": "false"},
        "push": {"default": "nothing", "recurseSubmodules": "no", "followTags": "false", "gpgSign": "false"},
        "protocol": {"version": "2"},
        "credential": {"helper": ""},
        "http": _http(settings),
        'remote "origin"': {"url": url, "tagOpt": "--no-tags"},
    }
    if settings.signing_key is not None:
        sections["gpg"] = {"format": "ssh"}
        sections["user"] = {"signingKey": str(settings.signing_key)}
    return "".join(_section(name, values) for name, values in sections.items()) + _refspecs(settings)


def _http(settings: RepositorySettings) -> dict[str, str]:
    # A redirect to another host would send the token there.
    options = {"sslVerify": "true", "followRedirects": "false", "lowSpeedLimit": "1000", "lowSpeedTime": "30"}
    if settings.ca_file is not None:
        options["sslCAInfo"] = str(settings.ca_file)
    return options


def _refspecs(settings: RepositorySettings) -> str:
    """The refspecs of the tracked branches; a push of the agent moves these refs as well."""
    branches = (settings.branch, settings.state_branch, *(f"{prefix}*" for prefix in PROMOTION_PREFIXES))
    lines = (f"\tfetch = +refs/heads/{name}:{TRACKING_PREFIX}{name}\n" for name in branches)
    return '[remote "origin"]\n' + "".join(lines)


def _section(name: str, values: dict[str, str]) -> str:
    lines = (f'\t{key} = "{_quoted(value)}"\n' for key, value in values.items())
    return f"[{name}]\n" + "".join(lines)


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
