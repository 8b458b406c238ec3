"""Pull requests, reviews and commit statuses on GitHub, GitLab and Gitea: only a view; no promotion waits for it."""
