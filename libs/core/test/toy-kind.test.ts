/** What follows from one row of the table of kinds: a kind that no other code knows is sealed, read, verified, shown and counted in an export. */
import { canonicalize, digest } from "@runseal/canonical"
import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import { describe, expect, test } from "vitest"
import { type Anchor, chainPlace } from "../src/artifacts/anchor.ts"
import { parseExact } from "../src/artifacts/parse-exact.ts"
import type { ChainForm } from "../src/formulas/chain-forms.ts"
import { checkAnchor, chooseTrust, passedEntry } from "../src/verify/anchor-check.ts"
import { COMPLETENESS_VERDICTS, foldExport } from "../src/verify/completeness.ts"
import { brokenRules } from "../src/verify/contradictions.ts"
import { isUnreadable, KINDS, readDocument, verifyText } from "../src/verify/document.ts"
import { line } from "../src/verify/evidence-line.ts"
import { collectFindings, conclude } from "../src/verify/examination.ts"
import { kindOf } from "../src/verify/kind.ts"
import { parseDocument } from "../src/verify/parsed-text.ts"
import { chainRules, tenantRule } from "../src/verify/record-places.ts"
import { VERDICTS } from "../src/verify/report.ts"
import { clockSchema, type Shape, sha256Schema, tenantIdSchema } from "../src/vocabulary/scalars.ts"
import { asSealed, chained, makeDeployment, sealRun, secondsOf, tenantOf } from "./fixtures/deployment.ts"
import { stateExport } from "./fixtures/sample-exports.ts"

const TOY_KIND = "vfa.toy.v1"
const toyLeafSchema = v.strictObject({
  leaf_version: v.literal("vfa.toy_leaf.v1"),
  toy_hash: sha256Schema,
  ...chainPlace,
})
type ToyLeaf = Shape<typeof toyLeafSchema>
const toySchema = v.strictObject({
  kind: v.literal(TOY_KIND),
  tenant_id: tenantIdSchema,
  tenant_salt: sha256Schema,
  toy_clock: clockSchema,
  name: v.string(),
  toy_hash: sha256Schema,
  leaf: toyLeafSchema,
  entry: transparencyLogEntrySchema,
})
type Toy = Shape<typeof toySchema>
type ToyBody = Omit<Toy, "toy_hash" | "leaf" | "entry">

const TOY_FORM: ChainForm<ToyBody, ToyLeaf, Toy> = {
  hash: toy => {
    const { toy_hash: _hash, leaf: _leaf, entry: _entry, ...rest }: ToyBody & Partial<Toy> = toy
    return digest(rest)
  },
  leaf: (body, place) => ({ leaf_version: "vfa.toy_leaf.v1", toy_hash: TOY_FORM.hash(body), ...place }),
  document: (body, { leaf, entry }) => ({ ...body, toy_hash: leaf.toy_hash, leaf, entry }),
}

const TOY = kindOf<Toy>({
  document: "toy",
  title: "Toy",
  genuine: "The toy is genuine.",
  verdict: "permit_end",
  recognizes: ({ kind }) => kind === TOY_KIND,
  parse: value => parseExact(toySchema, value),
  verify: (toy, trusts) => {
    const { leaf, entry, toy_clock: clock } = toy
    const findings = collectFindings()
    const examination = { trust: chooseTrust(entry, trusts), findings }
    findings.require("leaf", TOY_FORM.hash(toy) === leaf.toy_hash, "the anchored leaf names another toy")
    findings.fail("leaf", ...brokenRules([tenantRule(toy, leaf)]))
    checkAnchor({ leaf, entry }, { leaf, clock }, examination)
    findings.fail("inclusion", ...brokenRules(chainRules(leaf, entry)))
    return conclude(examination, {
      document: "toy",
      good: VERDICTS.permit_end,
      passed: { shape: "it is a toy", leaf: "the toy is that of the leaf", ...passedEntry(entry) },
      clock,
      withheld: [],
      limitations: [],
      anchors: anchorsOf(toy),
    })
  },
  anchors: anchorsOf,
  evidence: ({ name }) => line("name", name),
  inChain: toy => {
    const brief = `toy ${toy.leaf.tenant_ordinal}`
    const clock = toy.toy_clock
    const nothing = { redemptions: [], movements: [] }
    return { counted: "ends", anchor: toy, clock, brief, long: brief, ...nothing }
  },
})

function anchorsOf({ leaf, entry }: Anchor<ToyLeaf>) {
  return [{ slot: "toy", anchor: { leaf, entry } }]
}

const WITH_TOYS = [...KINDS, TOY]

const deployment = makeDeployment()
const trusts = [deployment.trust]
const [before, toy, after] = [sealRun(deployment, { outcome: "ok" }), sealToy(), sealRun(deployment, { outcome: "ok" })]
const text = canonicalize(toy)

function sealToy(): Toy {
  const tenant = tenantOf(deployment, "api-key-1")
  const { tenant_id, tenant_salt } = tenant
  const toy_clock = "2026-01-15T12:00:01.000Z"
  const body: ToyBody = { kind: TOY_KIND, tenant_id, tenant_salt, toy_clock, name: "bear" }
  const leaf = chained(tenant, place => TOY_FORM.leaf(body, place))
  const logged = deployment.log.append(leaf, deployment.serviceKey, secondsOf(toy_clock) + 1)
  return TOY_FORM.document(body, deployment.log.anchor(logged, deployment.log.head()))
}

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
})
