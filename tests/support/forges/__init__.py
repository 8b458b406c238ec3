"""A real Gitea, stand-ins for GitHub and GitLab, and the people who use them."""
