"""The table "What each door seals" of docs/doors/README.md, against records of a service."""

from typing import Any

from places import REPOSITORY
from service import Service

COST = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}


def _rows() -> list[dict[str, str]]:
    page = (REPOSITORY / "docs/doors/README.md").read_text()
    section = page.split("## What each door seals")[1].split("\n## ")[0]
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"
    ]
    return [dict(zip(head, row, strict=True)) for row in rows]


def _sealed(sections: dict[str, Any], member: str) -> Any:
    """A declared member, of the opening or of the close."""
    section, *path = member.split(".")
    found = []
    for value in (sections.get(section, {}).get("declared", {}), sections["closing"]["declared"].get(section, {})):
        for name in path:
            value = value.get(name, {})
        found += [value] if value not in ({}, "", None) else []
    return found[0] if found else None


def assert_sealed(service: Service, run_id: int, kind: str, door: str, names: dict[str, str], **facts: Any) -> None:
    """Holds a record against the table. `kind` is what was called; `names` is what the names in routes stand for; `facts`
    are the values of members by their last names."""
    bundle = service.get(f"/runs/{run_id}/artifacts")
    members = {row["member of the record"].strip("`"): row[door] for row in _rows() if row["a call of"] == kind}
    assert members
    for member, cell in members.items():
        if member == "route_id":
            for name, value in names.items():
                cell = cell.replace(f"<{name}>", value)
            if cell.startswith("`"):
                assert f"`{service.get(f'/runs/{run_id}')['route_id']}`" == cell
            continue
        value = _sealed(bundle["sections"], member)
        assert (value is not None) == (cell != "—"), (member, cell, value)
        expected = facts.get(member.split(".")[-1])
        assert cell == "—" or expected is None or value == expected, (member, value)
