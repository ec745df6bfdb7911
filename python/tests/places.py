"""Where the repository's files are."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
VECTORS = REPOSITORY / "libs" / "core" / "vectors"
NODE = REPOSITORY / "node_modules" / ".bin" / "node"
