"""Release groups in a cluster: their object, their HTTPRoutes, and the Services with the services' own names.

Everything is read live: groups are few, and what is decided on must not be older than the decision.
"""
