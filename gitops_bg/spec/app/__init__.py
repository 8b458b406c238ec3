"""The files of an app and of the repository: app.yaml, primary.yaml, gitops-bg.yaml, and what is wrong with them."""
