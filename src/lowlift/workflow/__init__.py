"""The path from a table to a released table, one function per step; the CLI and the web call it."""

from lowlift._receipts import Receipt, read_receipt
from lowlift.report import Point
from lowlift.tables import Spec
from lowlift.workflow.applying import Options, apply
from lowlift.workflow.checking import Check, Verification, verify
from lowlift.workflow.choices import MECHANISMS
from lowlift.workflow.columns import Asked, Found, columns_of, count_table
from lowlift.workflow.criteria import CRITERIA, criterion_of
from lowlift.workflow.curves import (
    parse_numbers,
    read_curve,
    tradeoff_curve,
    tradeoff_of,
    write_curve,
)
from lowlift.workflow.designing import (
    Design,
    TableAudit,
    audit_counted,
    audit_table,
    design_counted,
    guesses,
)
from lowlift.workflow.estimating import TableEstimate, estimate_groups, estimate_table
from lowlift.workflow.held import audit_releases
from lowlift.workflow.keys import new_key, read_key
from lowlift.workflow.ledgers import check_ledger, export_ledger, read_ledger, withdraw
from lowlift.workflow.profiles import ColumnProfile, TableProfile, publishable
from lowlift.workflow.profiling import profile_columns
from lowlift.workflow.recording import Recording
from lowlift.workflow.refining import design_refinement, refine_table
from lowlift.workflow.reporting import report_of, report_of_curve
from lowlift.workflow.rows import design
from lowlift.workflow.sanitizing import Sanitized, codebook_of, publish, sanitize
from lowlift.workflow.utility import compare_tables

__all__ = [
    "CRITERIA",
    "MECHANISMS",
    "Asked",
    "Check",
    "ColumnProfile",
    "Design",
    "Found",
    "Options",
    "Point",
    "Receipt",
    "Recording",
    "Sanitized",
    "Spec",
    "TableAudit",
    "TableEstimate",
    "TableProfile",
    "Verification",
    "apply",
    "audit_counted",
    "audit_releases",
    "audit_table",
    "check_ledger",
    "codebook_of",
    "columns_of",
    "compare_tables",
    "count_table",
    "criterion_of",
    "design",
    "design_counted",
    "design_refinement",
    "estimate_groups",
    "estimate_table",
    "export_ledger",
    "guesses",
    "new_key",
    "parse_numbers",
    "profile_columns",
    "publish",
    "publishable",
    "read_curve",
    "read_key",
    "read_ledger",
    "read_receipt",
    "refine_table",
    "report_of",
    "report_of_curve",
    "sanitize",
    "tradeoff_curve",
    "tradeoff_of",
    "verify",
    "withdraw",
    "write_curve",
]
