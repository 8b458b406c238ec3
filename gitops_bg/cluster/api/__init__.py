"""The API server: connection, verbs, watches, the Lease, its errors and its clock."""
