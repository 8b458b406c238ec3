"""From a world to the next: the steps of the engine, each of which changes the record and nothing else."""
