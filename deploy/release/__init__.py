"""`make release`: everything that a release of gitops-bg consists of, from one commit, the same bytes each time.

Publishes nothing: `push` is another command. CONTRIBUTING.md says who does what; decision 46, why it is made so.
"""
