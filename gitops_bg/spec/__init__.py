"""What users write: schemas, loading, and errors that name the file and the line.

Converts the files of a repository to the types of `core`; never talks to Git or to Kubernetes.
"""
