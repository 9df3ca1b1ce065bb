"""The benchmark scripts as modules: what they run in minutes is here a few seconds of it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts/bench"))
