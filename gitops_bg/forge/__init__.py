"""Pull requests, reviews, commit statuses on GitHub, GitLab, Gitea: decoration, never what a promotion waits for."""
