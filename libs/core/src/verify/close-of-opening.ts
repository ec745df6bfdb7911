/** Whether a record is the close of an opening, without the export that both are part of. docs/verifier.md, "Expectations". */
import { areOfTwoTrees, entryView } from "@runseal/log/entries/one-tree"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { Opening } from "../artifacts/opening.ts"
import { recordInChain } from "./bundle.ts"
import type { ChainDocument } from "./chain-document.ts"
import { brokenRules } from "./contradictions.ts"
import { type Compared, createPermitCheck } from "./export-permits.ts"
import { createWindowCheck } from "./export-windows.ts"
import { openingInChain } from "./verify-opening.ts"

/** Compares a record with an opening. Each verifies by itself, under keys of one service. */
export function compareClose(record: Bundle, opening: Opening): Compared {
  const { permit } = record.sections
  if (permit === undefined) return only("closes no permit")
  if (permit.permit_id !== opening.permit_id)
    return only(`closes the permit ${permit.permit_id}, and the opening is of ${opening.permit_id}`)
  const closed = recordInChain(record)
  const permits = createPermitCheck(true)
  const windows = createWindowCheck([], false)
  permits.open(opening, true)
  windows.take(openingInChain(opening), "the opening")
  const { problems, notes } = permits.close(record, permit)
  return { problems: [...placeProblems(closed, opening), ...problems, ...windows.take(closed, "the record")], notes }
}

const only = (problem: string): Compared => ({ problems: [problem], notes: [] })

/** The opening is before the record in one log and in one chain. */
function placeProblems(record: ChainDocument, { leaf, entry }: Opening): readonly string[] {
  const { anchor: last, firstEntry } = record
  const entries = [firstEntry, last?.entry].filter(one => one !== undefined)
  const tree = entryView(entry)
  return brokenRules([
    [last === undefined || last.leaf.tenant_commitment === leaf.tenant_commitment, "is of another tenant"],
    [last === undefined || last.leaf.tenant_ordinal > leaf.tenant_ordinal, "is not behind the opening in its chain"],
    [entries.every(one => Number(one.logIndex) > Number(entry.logIndex)), "is not behind the opening in the log"],
    [
      entries.every(one => Number(one.integratedTime) >= Number(entry.integratedTime)),
      "was logged at an earlier time than the opening before it",
    ],
    [
      entries.every(one => !areOfTwoTrees(tree, entryView(one))),
      "proves itself in another tree than the opening: the log was forked",
    ],
  ])
}
