"""The harness is a folder of scripts: put it on the path."""

import sys
from pathlib import Path

HARNESS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(HARNESS))
