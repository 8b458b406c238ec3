"""The API server: connection, verbs, watches, its errors and its clock."""
