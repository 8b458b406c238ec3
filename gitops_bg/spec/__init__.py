"""What users write: schemas, loading, and errors that name the file and the line.

Turns the files of a repository into the types of `core`; never talks to Git or to Kubernetes.
"""
