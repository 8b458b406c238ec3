"""What people see in the cluster: the status of the BlueGreenDeployment, and Events."""
