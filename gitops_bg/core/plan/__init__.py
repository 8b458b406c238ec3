"""From the world to actions: what is to be done in the cluster, in Git, over HTTP, so that it is as the record says."""
