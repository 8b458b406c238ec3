"""The name of a repository, however it is reached: to tell two repositories apart. Pure; contacts no remote."""

import re
from urllib.parse import urlsplit

_SCP_LIKE = re.compile(r"(?:[^@/:]+@)?([^/:@]+):(?!//)(.+)")


def repository_name(url: str) -> str:
    """A URL without credentials, protocol, port and ending: https and ssh lead to the same repository.

    >>> repository_name("https://bot:secret@Git.example.com/shop/config.git/")
    'git.example.com/shop/config'
    >>> repository_name("git@git.example.com:shop/config.git")
    'git.example.com/shop/config'
    >>> repository_name("ssh://git@git.example.com:2222/shop/config")
    'git.example.com/shop/config'
    >>> repository_name("/srv/git/config.git"), repository_name("file:///srv/git/config.git")
    ('/srv/git/config', '/srv/git/config')
    """
    scp = _SCP_LIKE.fullmatch(url)
    if "://" in url:
        parts = urlsplit(url)
        host, path = (parts.hostname or "").lower(), parts.path
    elif scp and not url.startswith("/"):
        host, path = scp[1].lower(), f"/{scp[2].lstrip('/')}"
    else:
        host, path = "", url
    return host + path.rstrip("/").removesuffix(".git")
