"""The paths of a configuration repository (DESIGN §3.1), and the names that are allowed in it. Reads no file."""

import re

from gitops_bg.core.model.version import AppKey

SETTINGS_FILE = "gitops-bg.yaml"
APPS_FOLDER = "apps"
ANALYSIS_FOLDER = "analysis"
ALERTS_FOLDER = "alerts"
POLICIES_FOLDER = "policies"
PEOPLE_FILE = "policies/people.yaml"
SIGNERS_FILE = "policies/allowed_signers"
FREEZE_FILE = "policies/freeze.yaml"
POLICY_TEST_SUFFIX = ".test.yaml"
APP_FILE = "app.yaml"
PRIMARY_FILE = "primary.yaml"
DEFAULT_TARGET_FILE = "target.yaml"
MANIFEST_SUFFIXES = (".yaml", ".yml")

# Kubernetes: RFC 1123 labels and subdomains (concepts/overview/working-with-objects/names).
DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
SERVICE_NAME = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
SUBDOMAIN = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
_DNS_LABEL = re.compile(DNS_LABEL)


def is_dns_label(name: str) -> bool:
    """Whether Kubernetes accepts ``name`` for a namespace; apps follow the same rule.

    >>> is_dns_label("web-2"), is_dns_label("Web"), is_dns_label("web_2"), is_dns_label("")
    (True, False, False, False)
    """
    return _DNS_LABEL.fullmatch(name) is not None


def folder_of(app: AppKey) -> str:
    """The folder of an app, without a trailing slash.

    >>> folder_of(AppKey("shop", "web"))
    'apps/shop/web'
    """
    return f"{APPS_FOLDER}/{app.namespace}/{app.name}"


def app_file(app: AppKey, filename: str) -> str:
    """The path of a file in an app's folder.

    >>> app_file(AppKey("shop", "web"), "target.yaml")
    'apps/shop/web/target.yaml'
    """
    return f"{folder_of(app)}/{filename}"


def app_of(path: str) -> tuple[AppKey, str] | None:
    """The app a path belongs to and the file's name in its folder; None for a path at any other depth.

    >>> app_of("apps/shop/web/target.yaml")
    (AppKey(namespace='shop', name='web'), 'target.yaml')
    >>> app_of("apps/shop/target.yaml"), app_of("policies/a.yaml"), app_of("apps/shop/web/more/x.yaml")
    (None, None, None)
    """
    parts = path.split("/")
    if len(parts) != 4 or parts[0] != APPS_FOLDER or not all(parts):
        return None
    return AppKey(parts[1], parts[2]), parts[3]


def is_manifest(filename: str) -> bool:
    """Whether a file is read at all; a README or OWNERS beside the manifests is ignored.

    >>> is_manifest("service.yaml"), is_manifest("README.md")
    (True, False)
    """
    return filename.endswith(MANIFEST_SUFFIXES)
