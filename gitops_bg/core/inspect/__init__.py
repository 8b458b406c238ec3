"""What would come of a group: by what main says, by a merge, by itself. For people; nothing here decides anything."""
