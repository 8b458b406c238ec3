"""What commits and pull requests mean for an app: a promotion merged, refused, or taken back."""
