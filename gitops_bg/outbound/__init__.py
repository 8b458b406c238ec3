"""The one way to call backends over HTTP, and the Secrets for their requests."""
