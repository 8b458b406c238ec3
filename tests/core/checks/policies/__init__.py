"""What promotion policies are judged to say."""
