"""Steps in the life of versions and their pods: registered, available, restarted, retired, archived, forgotten."""
