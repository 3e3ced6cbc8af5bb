"""How well and how fast actions are found, against other ways of searching in the same run."""
