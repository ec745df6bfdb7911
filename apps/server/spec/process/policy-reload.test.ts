/** Policies in a process: SIGHUP, and the commands that need no database. docs/policy-and-review.md, "Tighten a policy without an accident". */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { runToEnd, startChild } from "../harness/child.ts"
import { request, spending } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"

const folder = testFolder("runseal-policy")
const file = (name: string, value: unknown): string => {
  const path = join(folder, name)
  writeFileSync(path, typeof value === "string" || value instanceof Uint8Array ? value : JSON.stringify(value))
  return path
}
const OPEN = {
  policy_id: "open",
  policy_name: "Open",
  required_attested_fields: [],
  rules: [{ id: "permit-all", effect: "allow" }],
}
const FRUGAL = {
  ...OPEN,
  policy_id: "frugal",
  rules: [...OPEN.rules, { id: "deny-spending", effect: "deny", when: "context.declared.tokens > 10" }],
}

test("SIGHUP puts the changed file in force; one that cannot be used changes nothing", async () => {
  const policy = file("policy.json", OPEN)
  const child = await startChild(["--data-dir", join(folder, "data"), "--policy", policy])
  try {
    expect((await child.post("/execute", spending(11))).status).toBe(200)
    file("policy.json", FRUGAL)
    child.signal("SIGHUP")
    await until("the file is in force", async () => (await child.post("/execute", spending(11))).status === 422)
    file("policy.json", "{")
    child.signal("SIGHUP")
    await until("the file is refused", () => child.stdout().includes("the policy of before stays"))
    expect((await child.post("/execute", spending(11))).status).toBe(422)
  } finally {
    await child.end("SIGTERM")
  }
})

const PAYMENTS = {
  policy_id: "payments",
  policy_name: "Payments",
  required_attested_fields: [],
  acts: [
    {
      name: "transfer",
      routes: ["payments/transfer"],
      names: { amount: { at: "/amount", type: "decimal", min: "0.01" }, note: { at: "/note", type: "string" } },
    },
  ],
  rules: [
    { id: "transfers", effect: "allow", act: "transfer" },
    { id: "large", effect: "deny", act: "transfer", when: 'context.act.amount.greaterThan(decimal("10000.0"))' },
    {
      id: "long",
      effect: "deny",
      routes: ["payments/*"],
      when: "context.bound has valid_for_seconds && context.bound.valid_for_seconds > 60",
    },
  ],
}
const TWO = {
  id: "two-people",
  effect: "deny",
  act: "transfer",
  when: 'context.act.amount.greaterThan(decimal("500.0")) && context.declared.approver_count < 2',
}

test("policy check says whose word each rule rests on, tries each act, and warns of what declarations alone decide", async () => {
  const checked = await runToEnd([
    "policy",
    "check",
    file("payments.json", { ...PAYMENTS, rules: [...PAYMENTS.rules, TWO] }),
  ])
  expect(checked).toMatchObject({ code: 0 })
  expect(checked.stdout).toContain("large (deny): act.amount (read by the service from the payload)")
  expect(checked.stdout).toContain("declared.approver_count (declared by the caller)")
  expect(checked.stdout).toContain("warning: two-people does not deny a caller that declares otherwise")
  expect(checked.stdout).toMatch(
    /a run of payments\/transfer with the least payload of transfer.*: admitted by transfers/,
  )
  expect(checked.stdout).not.toContain("has no condition")
})

test("policy check times a rule of an act with a large request of that act, and says where it cannot", async () => {
  const patterns = Array.from({ length: 25 }, () => 'context.declared.attested.decision_note like "*example*z*"')
  const when = `context.declared has attested && context.declared.attested has decision_note && (${patterns.join(" || ")})`
  const slow = { id: "notes", effect: "deny", act: "transfer", when }
  const { stdout } = await runToEnd([
    "policy",
    "check",
    file("slow-act.json", { ...PAYMENTS, rules: [...PAYMENTS.rules, slow] }),
  ])
  expect(stdout).toMatch(/warning: notes takes \d+\.\d ms for a large request/)
  const names = { one: { at: "/a", type: "boolean" }, other: { at: "/a", type: "integer" } }
  const acts = [{ ...PAYMENTS.acts[0], names }]
  const rules = [{ id: "r", effect: "allow", act: "transfer", when: "context.act.one" }]
  const unfit = await runToEnd(["policy", "check", file("unfit.json", { ...PAYMENTS, acts, rules })])
  expect(unfit.stdout).toContain("warning: r was not timed: no example of a payload fits its act table")
})

test("policy test judges openings by their terms, and says what of an act cannot be read", async () => {
  const payments = file("payments.json", PAYMENTS)
  const payment = { route_id: "payments/transfer", payload: { amount: 12, note: "rent" } }
  const cases = [
    { name: "small", request: payment, expect: { decision: "admitted" } },
    { name: "short", opening: { ...payment, valid_for_seconds: 60 }, expect: { decision: "admitted" } },
    { name: "long", opening: payment, expect: { decision: "denied", rule_id: "long" } },
    {
      name: "exponent",
      request: { ...payment, payload: '{"amount":1e4,"note":"rent"}' },
      expect: { decision: "denied", rule_id: "policy-engine", reason: "ACT_UNREADABLE" },
    },
    {
      name: "other",
      request: { ...payment, payload: undefined, payload_text: "{}", route_id: "other" },
      expect: { decision: "denied", reason: "RULE_DENIED" },
    },
  ]
  const tested = await runToEnd(["policy", "test", payments, file("cases.json", cases)])
  expect(tested.code).toBe(1)
  expect(tested.stdout).toContain("ok      exponent: denied by policy-engine (ACT_UNREADABLE: amount not_exact)")
  expect(tested.stdout).toContain("FAILED  other: denied by default-deny (DEFAULT_DENY); expected denied (RULE_DENIED)")
  expect(tested.stdout).toContain("4 of 5 cases as expected")
  const both = [{ name: "both", request: payment, opening: payment, expect: { decision: "admitted" } }]
  const refused = await runToEnd(["policy", "test", payments, file("both.json", both)])
  expect(refused.stderr).toContain("must have a request or an opening")
})

test("policy check shows hash, warnings and decisions, and refuses what a start refuses", async () => {
  const good = await runToEnd(["policy", "check", file("good.json", FRUGAL)])
  expect(good).toMatchObject({ code: 0 })
  expect(good.stdout).toMatch(/policy_hash [0-9a-f]{64}/)
  expect(good.stdout).toContain("denied by deny-spending (RULE_DENIED)")
  const closed = await runToEnd(["policy", "check", file("closed.json", { ...OPEN, rules: [] })])
  expect(closed.stdout).toContain("there is no allow rule: every run is denied")
  const like = Array.from({ length: 25 }, () => 'context.declared.attested.decision_note like "*example*z*"').join(
    " || ",
  )
  const when = `context.declared has attested && context.declared.attested has decision_note && (${like})`
  const slow = file("slow.json", { ...FRUGAL, rules: [...FRUGAL.rules, { id: "notes", effect: "deny", when }] })
  const timed = await runToEnd(["policy", "check", slow])
  expect(timed.stdout).toMatch(/warning: notes takes \d+\.\d ms for a large request, and every run waits for it/)
  expect(timed.stdout).not.toContain("deny-spending takes")
  const bad = await runToEnd([
    "policy",
    "check",
    file("bad.json", { ...OPEN, rules: [{ id: "x", effect: "deny", when: "context.nothing" }] }),
  ])
  expect(bad.code).toBe(1)
  expect(bad.stderr).toContain('Rule "x"')
})

test("policy test exits with 1 when a case is decided otherwise", async () => {
  const policy = file("tested.json", FRUGAL)
  const denied = { decision: "denied", rule_id: "deny-spending" }
  const cases = [
    { name: "cheap", request: request(), expect: { decision: "admitted" } },
    { name: "dear", request: spending(11), expect: denied },
  ]
  expect(await runToEnd(["policy", "test", policy, file("cases.json", cases)])).toMatchObject({ code: 0 })
  const wrong = [{ name: "cheap", request: request(), expect: denied }]
  const failed = await runToEnd(["policy", "test", policy, file("wrong.json", wrong), "--json"])
  expect(failed.code).toBe(1)
  expect(JSON.parse(failed.stdout)).toMatchObject({ ok: false, cases: 1, failed: 1 })
})

test("a policy and a file of options may begin with a byte order mark, and one in UTF-16 is named", async () => {
  const frugal = JSON.stringify(FRUGAL)
  const policy = file("marked.json", `\ufeff${frugal}`)
  const dear = { name: "dear", request: spending(11), expect: { decision: "denied", rule_id: "deny-spending" } }
  const cases = file("marked-cases.json", `\ufeff${JSON.stringify([dear])}`)
  const options = file("marked.yaml", `\ufeffpolicy: ${policy}\ndata-dir: ${join(folder, "marked")}\n`)
  expect(await runToEnd(["policy", "test", policy, cases])).toMatchObject({ code: 0 })
  const child = await startChild(["--config", options])
  try {
    expect((await child.post("/execute", spending(11))).status).toBe(422)
  } finally {
    await child.end("SIGTERM")
  }
  const wide = (name: string, text: string): string => file(name, Buffer.from(`\ufeff${text}`, "utf16le"))
  for (const words of [
    ["policy", "check", wide("wide.json", frugal)],
    ["policy", "test", policy, wide("wide-cases.json", "[]")],
    ["--policy", wide("wide.json", frugal)],
    ["--config", wide("wide.yaml", "port: 1")],
  ]) {
    const { code, stderr } = await runToEnd(words)
    expect(code, stderr).not.toBe(0)
    expect(stderr).toContain("it is UTF-16 text, as > of Windows PowerShell writes it")
  }
})
