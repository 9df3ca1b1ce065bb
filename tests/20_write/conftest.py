"""The benchmark scripts as modules: writers.py says what must hold of a memory."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts/bench"))
