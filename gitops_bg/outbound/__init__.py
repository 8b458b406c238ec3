"""The one way out over HTTP, and the Secrets that go with a request."""
