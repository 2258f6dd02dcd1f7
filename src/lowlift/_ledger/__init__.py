"""What was published of whom, and to whom: a file that is asked before the next publication."""

from lowlift._ledger.entries import EVERYBODY, Entry, Who, folded, is_same, new_id, recipient_of
from lowlift._ledger.store import Ledger, default_ledger, switch

__all__ = [
    "EVERYBODY",
    "Entry",
    "Ledger",
    "Who",
    "default_ledger",
    "folded",
    "is_same",
    "new_id",
    "recipient_of",
    "switch",
]
