"""Who is told of what happens to a group: the alerts of the repository, as for apps. Decides no move."""
