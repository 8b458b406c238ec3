"""References to one key of a Secret; no file contains its value."""

from typing import Annotated

from pydantic import Field

from gitops_bg.spec.app.fields import Model, Text
from gitops_bg.spec.app.layout import SUBDOMAIN
from gitops_bg.spec.app.validation import Matching

SecretName = Annotated[str, Matching(SUBDOMAIN, "use small letters, digits, - and .")]


class SecretKeyRef(Model):
    """One key of a Secret in the app's namespace; read only when a metric is measured."""

    name: SecretName = Field(description="The Secret.")
    key: Text = Field(description="The key in it.")
