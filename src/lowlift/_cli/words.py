"""What to do about an error, in the words of the command line."""

from collections.abc import Mapping

#: By the keys of `lowlift.errors.ADVICE`.
ADVICE: Mapping[str, str] = {
    "bins": "Add them with --bin, such as --bin {column}={example}; other forms: {forms}.",
    "cells": "Or publish rows: --cells auto.",
    "design": "Make one with lowlift design.",
    "first": "Give it with --first, such as --first safe.csv.",
    "held": "Refine what was published (lowlift refine), publish the same draws again (the same "
    "release, --id and --key-file), or publish --to another recipient; what was never handed out: "
    "lowlift ledger withdraw.",
    "https": "Give both --certificate and --certificate-key.",
    "key": "Make one with lowlift key new.",
    "missing": "Design with --missing value, or remove them.",
    "overwrite": "Choose another name, or use --force.",
    "remote": "Give --password-file, --certificate and --certificate-key; without --host only this "
    "machine gets in.",
    "subkey": "Name that table with --key-table, or leave --view out.",
    "unaudited": "Name the files of the earlier releases with --earlier, or accept it with "
    "--accept-unaudited.",
    "unchecked": "To accept it, use --accept-unchecked.",
    "uncovered": "Release those columns too (-x), leave them out, or use --accept-uncovered.",
}
