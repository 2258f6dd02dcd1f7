"""Cells of a table: readable boxes that hold all its rows, learnt from the published columns."""
