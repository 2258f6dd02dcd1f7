"""What a Python user does with a table: sanitize, audit, verify, estimate, compare."""

from lowlift._verbs.published import compare, estimate, verify
from lowlift._verbs.publishing import audit_table, columns, sanitize

__all__ = ["audit_table", "columns", "compare", "estimate", "sanitize", "verify"]
