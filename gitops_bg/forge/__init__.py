"""GitHub, GitLab, Gitea: the place for pull requests and commit status. Until then a promotion is a branch."""
