"""Release groups as people and programs see them. Draws what it is given; decides nothing."""
