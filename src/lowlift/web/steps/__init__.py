"""The steps of the path from a table to a published one: a module with routes for each."""
