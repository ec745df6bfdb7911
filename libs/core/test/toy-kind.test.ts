/** What follows from one row of the tables of kinds: a kind that no other code knows is read, verified, shown, counted in an export and an event. */
import { canonicalize } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { cefLine } from "../src/event-forms/cef-line.ts"
import { ocsfEvent } from "../src/event-forms/ocsf-event.ts"
import { EVENTS } from "../src/event-forms/sealed-events.ts"
import { leafDigest } from "../src/formulas/leaves.ts"
import { COMPLETENESS_VERDICTS, foldExport } from "../src/verify/completeness.ts"
import { isUnreadable, KINDS, readDocument, verifyText } from "../src/verify/document.ts"
import { parseDocument } from "../src/verify/parsed-text.ts"
import { VERDICTS } from "../src/verify/report.ts"
import { asSealed, makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { asJson } from "./fixtures/json-values.ts"
import { SENDER } from "./fixtures/sample-events.ts"
import { stateExport } from "./fixtures/sample-exports.ts"
import { sealToy, TOY, TOY_EVENT } from "./fixtures/toy-kind.ts"

const WITH_TOYS = [...KINDS, TOY]

const deployment = makeDeployment()
const trusts = [deployment.trust]
const before = sealRun(deployment, { outcome: "ok" })
const toy = sealToy(deployment)
const after = sealRun(deployment, { outcome: "ok" })
const text = canonicalize(toy)

describe("a toy kind", () => {
  test("is none of ours without its row", () => {
    expect(isUnreadable(verifyText(text, trusts))).toBe(true)
  })

  test("is verified by its row, and a changed one is not", () => {
    expect(verifyText(text, trusts, WITH_TOYS)).toMatchObject({ document: "toy", verdict: VERDICTS.permit_end })
    const changed = verifyText(canonicalize({ ...toy, name: "fox" }), trusts, WITH_TOYS)
    expect(changed).toMatchObject({ verdict: VERDICTS.failed, first_failure: "leaf" })
    const foreign = verifyText(canonicalize({ ...toy, colour: "red" }), trusts, WITH_TOYS)
    expect(foreign).toEqual({ unreadable: expect.stringContaining("colour") })
  })

  test("shows its anchors and what it states", () => {
    const read = readDocument(parseDocument(text), WITH_TOYS)
    if ("unreadable" in read) throw new Error(read.unreadable)
    expect(read.anchors().map(({ slot, anchor }) => [slot, anchor.entry.logIndex])).toEqual([
      ["toy", toy.entry.logIndex],
    ])
    expect(read.evidence()).toEqual([{ key: "name", label: "name", value: "bear" }])
  })

  test("has its place in an export, which is not complete without it", () => {
    const bundles = [before.bundle, after.bundle]
    const statement = stateExport(deployment, bundles, { alter: { ends: 1 } })
    const completeness = (...lines: readonly unknown[]) => {
      const fold = foldExport(trusts, undefined, { kinds: WITH_TOYS })
      for (const [at, value] of lines.entries()) fold.take(at + 1, new TextEncoder().encode(JSON.stringify(value)))
      return fold.end()
    }
    const whole = completeness(statement, asSealed(before.bundle), toy, asSealed(after.bundle))
    expect(whole).toMatchObject({ verdict: COMPLETENESS_VERDICTS.chain, records: 2, ends: 1, problems: [] })
    const lacking = completeness(statement, asSealed(before.bundle), asSealed(after.bundle))
    expect(lacking).toMatchObject({ verdict: COMPLETENESS_VERDICTS.failed })
    expect(lacking).toMatchObject({ problems: [{ sentence: "document 2 is missing, after run 1 and before run 2" }] })
  })

  test("is an event in every form by its row", () => {
    const { leaf, entry } = toy
    const place = { log_index: Number(entry.logIndex), owner: 1, chain_ordinal: leaf.tenant_ordinal }
    const stored = { ...place, kind: "toy", leaf_digest: leafDigest(leaf), findings: "", manifest_hash: "" }
    const event = TOY_EVENT.eventOf(asJson(toy), stored)
    if (event === undefined) throw new Error("a toy has an event")
    expect(event).toMatchObject({ type: "toy.sealed", position: place.log_index, data: { key_id: 1, name: "bear" } })
    const rows = [...EVENTS, TOY_EVENT]
    expect(ocsfEvent(event, SENDER, rows)).toMatchObject({ message: "Toy bear", unmapped: { name: "bear" } })
    expect(cefLine(event, SENDER, rows)).toContain("|toy.sealed|Toy bear|3|")
    expect(() => cefLine(event, SENDER)).toThrow("the type of a row")
    expect(TOY_EVENT.eventOf({ kind: "toy" }, stored)).toBeUndefined()
  })
})
