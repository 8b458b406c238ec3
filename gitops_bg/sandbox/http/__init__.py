"""The API server's door: requests, answers, watches, tables, discovery."""
