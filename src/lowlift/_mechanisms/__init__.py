"""Functions ``name(joint, criterion, *, options) -> Release``, one file each."""
