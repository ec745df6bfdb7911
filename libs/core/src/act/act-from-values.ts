/** An act as another table would have read it, from values that were sealed: the payload itself is stored nowhere. */
import { numberText } from "@runseal/canonical"
import type { ActRow, ActTable } from "./act-table.ts"
import { type ActScalar, readValue } from "./act-value.ts"
import type { ActFault, ActValue, ReadAct } from "./read-act.ts"

/**
 * @param sealed values of an act that was readable
 * @param sealedBy the table that they were read by, where it is known: what it reads and is not among them was absent
 * @returns a sentence where the values do not tell
 */
export function actFromValues(table: ActTable, sealed: readonly ActValue[], sealedBy?: ActTable): ReadAct | string {
  const unknown = (table.closed ?? []).find(pointer => !(sealedBy?.closed ?? []).includes(pointer))
  if (unknown !== undefined) return `its record does not say which members the object at ${unknown} had`
  const values: ActValue[] = []
  const unreadable: ActFault[] = []
  for (const name of Object.keys(table.names).toSorted()) {
    const row = table.names[name]
    if (row === undefined) continue
    const found = sealed.find(({ at, type }) => at === row.at && type === row.type)
    const sealedRow = Object.values(sealedBy?.names ?? {}).find(({ at, type }) => at === row.at && type === row.type)
    if (found === undefined && sealedRow === undefined) return `its record has no ${row.type} at ${row.at}`
    if (row.case === undefined && found !== undefined && sealedRow?.case !== undefined)
      return `its record does not say in which case the text at ${row.at} was written`
    const read = found && readAgain(row, found.value)
    if (read === undefined) {
      if (row.optional !== true) unreadable.push({ name, problem: "absent" })
    } else if ("problem" in read) unreadable.push({ name, problem: read.problem })
    else values.push({ name, at: row.at, type: row.type, value: read.value })
  }
  return { values, unreadable }
}

/** A sealed value under the bounds and the case of another row. A sum is sealed as the decimal that it came to. */
function readAgain(row: ActRow, value: ActScalar): ReturnType<typeof readValue> {
  const tree = typeof value === "number" ? numberText(String(value)) : value
  if (row.type === "sum" || row.type === "max") return readValue({ ...row, type: "decimal" }, [tree])
  return readValue(row.type === "strings" ? { ...row, at: "/sealed" } : row, [tree])
}
