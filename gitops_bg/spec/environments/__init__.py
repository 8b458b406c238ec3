"""Environments: ``environments.yaml``, ``overlay.yaml`` and ``release.yaml``, read and written."""
