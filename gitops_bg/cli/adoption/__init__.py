"""`gitops-bg adopt`: why a live app cannot be adopted, the folder that it gets, and what the agent will do."""
