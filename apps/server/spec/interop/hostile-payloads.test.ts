/**
 * Payloads that are meant to be read in different ways, through the whole service: what it sealed is what a verifier reads of the same bytes,
 * and no executor that decodes JSON as Go does acts on other values. docs/policy-and-review.md, "Act tables".
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type JsonObject, sha256Hex } from "@runseal/canonical"
import { type ShownAct, shownAct } from "@runseal/core/artifacts/act-section"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { readDocument } from "@runseal/core/verify/document"
import { parseDocument } from "@runseal/core/verify/parsed-text"
import { type DecidedAgain, decidesAgain } from "@runseal/policy/decide-again"
import { parsePolicyDocument } from "@runseal/policy/policy-document"
import fc from "fast-check"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createApp } from "../../src/app.ts"
import { HOSTILE_TABLE, hostilePayloads } from "../harness/hostile-payloads.ts"
import { request } from "../harness/sample-requests.ts"
import { openService, type TestService } from "../harness/test-service.ts"

const PAYLOADS = 10_000
const AT_ONCE = 64
/** The slowest part: every run is sealed. */
const SEALING_TIMEOUT_MS = 600_000

const POLICY: JsonObject = {
  policy_id: "payments",
  policy_name: "Payments",
  required_attested_fields: [],
  acts: [JSON.parse(JSON.stringify(HOSTILE_TABLE))],
  rules: [
    { id: "transfers", effect: "allow", act: "transfer" },
    { id: "large", effect: "deny", act: "transfer", when: 'context.act.amount.greaterThan(decimal("1000.0"))' },
  ],
}

const payloads = [...new Set(fc.sample(hostilePayloads, PAYLOADS))]
const records = new Map<string, Bundle>()
let service: TestService | undefined

beforeAll(async () => {
  service = await openService({ policy: POLICY })
  const app = createApp(service.deps)
  const waiting = payloads.values()
  const send = async (): Promise<void> => {
    for (const payload of waiting) {
      const body = JSON.stringify(request({ route_id: "payments/transfer", payload }))
      const { status } = await app.request("/execute", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body,
      })
      expect([200, 422], payload).toContain(status)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, send))
  const lines = (await (await app.request("/runs/export")).text()).trimEnd().split("\n")
  for (const line of lines.slice(1)) {
    const read = readDocument(parseDocument(line))
    const bundle = "unreadable" in read ? undefined : read.forms?.bundle
    if (bundle !== undefined) records.set(bundle.sections.payload.payload_hash, bundle)
  }
}, SEALING_TIMEOUT_MS)
afterAll(() => service?.close())

const recordOf = (payload: string): Bundle => {
  const record = records.get(sha256Hex(payload))
  if (record === undefined) throw new Error(`no record of ${payload}`)
  return record
}
const actOf = (payload: string): ShownAct => {
  const { act } = recordOf(payload).sections
  const shown = act && shownAct(act)
  if (shown === undefined) throw new Error(`no act of ${payload}`)
  return shown
}

test("each of many hostile payloads is decided again from its bytes", () => {
  const decide = decidesAgain([parsePolicyDocument(POLICY)])
  const others = payloads
    .map((payload): readonly [string, DecidedAgain] => [payload, decide(recordOf(payload), payload)])
    .filter(([, again]) => !("from" in again && again.from === "payload"))
  expect(others).toEqual([])
  const readable = payloads.filter(payload => actOf(payload).unreadable.length === 0).length
  expect(readable).toBeGreaterThan(payloads.length / 10)
  expect(readable).toBeLessThan((payloads.length * 9) / 10)
})

const hasGo = (process.env.PATH ?? "").split(delimiter).some(path => existsSync(join(path, "go")))

/** What the executor of Go acts on; absent for a payload that it refuses. */
type Executed = {
  readonly amount: string
  readonly currency: string
  readonly payee: string
  readonly cc?: readonly string[]
  readonly total?: string
}

test.skipIf(!hasGo)("an executor written in Go acts on the sealed values, or on nothing", () => {
  const program = fileURLToPath(new URL("./go-executor/main.go", import.meta.url))
  const { stdout, status, stderr } = spawnSync("go", ["run", program], {
    input: payloads.map(payload => `${JSON.stringify(payload)}\n`).join(""),
    encoding: "utf8",
    maxBuffer: 64 * 1_048_576,
  })
  expect(status, stderr).toBe(0)
  const answers: readonly (Executed | "refused")[] = stdout
    .trimEnd()
    .split("\n")
    .map(line => JSON.parse(line))
  expect(answers).toHaveLength(payloads.length)
  let [both, onlyGo] = [0, 0]
  for (const [at, payload] of payloads.entries()) {
    const executed = answers[at] ?? "refused"
    const act = actOf(payload)
    if (executed === "refused") continue
    if (act.unreadable.length > 0) {
      onlyGo++
      expect(recordOf(payload).run.outcome_kind, payload).toBe("pepg_deny")
      continue
    }
    both++
    expect(comparable(executed), payload).toEqual(
      Object.fromEntries(act.values.map(({ name, value }) => [name, value])),
    )
  }
  // Both happen often: payloads that both read, and those that Go would execute and the service refused.
  expect(both).toBeGreaterThan(500)
  expect(onlyGo).toBeGreaterThan(500)
})

/** What Go read, written as the service seals it. */
const comparable = ({ cc = [], total, ...act }: Executed): Readonly<Record<string, unknown>> => ({
  ...act,
  amount: decimal(act.amount),
  ...(cc.length === 0 ? {} : { cc: [...new Set(cc)].toSorted() }),
  ...(total === undefined ? {} : { total: decimal(total) }),
})
const decimal = (text: string): string => text.replace(/(\.\d+?)0+$/, "$1")
