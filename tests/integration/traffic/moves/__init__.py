"""What has requests changes under load: its name, its Gateway, its owner."""
