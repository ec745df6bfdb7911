/** The table "What each door seals" of docs/doors/README.md, against records of a service. */
import { readFileSync } from "node:fs"
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { expect } from "vitest"
import { at } from "./read-answer.ts"

const PAGE = new URL("../../../../docs/doors/README.md", import.meta.url)
const NONE = "—"

/** The cell of each member of the record. */
function cellsOf(kind: string, door: string): readonly (readonly [member: string, cell: string])[] {
  const section = readFileSync(PAGE, "utf8").split("## What each door seals")[1]?.split("\n## ")[0] ?? ""
  const lines = section.split("\n").filter(line => line.startsWith("|"))
  const [head = [], , ...rows] = lines.map(line =>
    line
      .slice(1, -1)
      .split("|")
      .map(cell => cell.trim()),
  )
  const column = head.indexOf(door)
  const found = rows.filter(([called]) => called === kind).map(row => [row[1] ?? "", row[column] ?? ""] as const)
  expect(column, `${door} has a column`).toBeGreaterThan(0)
  expect(found, `${kind} has rows`).not.toEqual([])
  return found.map(([member, cell]) => [member.replaceAll("`", ""), cell])
}

/** A declared member, of the opening or of the close. */
function sealed(sections: JsonObject, member: string): JsonValue | undefined {
  const [section = "", ...path] = member.split(".")
  return at(sections, section, "declared", ...path) ?? at(sections, "closing", "declared", section, ...path)
}

export type SealedFacts = {
  /** Of the record. */
  readonly route_id: string
  /** The values of the names in routes. */
  readonly names: Readonly<Record<string, string>>
  /** Values of members, by the last part of their names. */
  readonly values: JsonObject
}

/**
 * Holds a record against the table.
 * @param kind what was called, as the first column names it
 * @param door the head of its column
 */
export function expectSealed(sections: JsonObject, kind: string, door: string, facts: SealedFacts): void {
  for (const [member, cell] of cellsOf(kind, door)) {
    if (member === "route_id") {
      const route = cell.replace(/<(\w+)>/g, (_, name) => facts.names[name] ?? "")
      if (cell.startsWith("`")) expect(`\`${facts.route_id}\``).toBe(route)
      continue
    }
    const value = sealed(sections, member)
    expect(value !== undefined && value !== "", `${door}, ${kind}, ${member}: ${cell}`).toBe(cell !== NONE)
    const expected = facts.values[member.split(".").at(-1) ?? ""]
    if (cell !== NONE && expected !== undefined) expect(value, `${door}, ${kind}, ${member}`).toEqual(expected)
  }
}
