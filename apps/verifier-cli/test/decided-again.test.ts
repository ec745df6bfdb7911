/** `--decided-by` on files, streams and exports, and on records that an operator retold. docs/verifier.md, "Decided again". */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { digest, type JsonValue } from "@runseal/canonical"
import type { EndUser } from "@runseal/core/artifacts/end-user"
import { withholdSections } from "@runseal/core/derivation/derive"
import { leafDigest } from "@runseal/core/formulas/leaves"
import { CONTEXT_ROWS } from "@runseal/core/formulas/policy-context"
import { policyPreimage } from "@runseal/policy/load-policy"
import { parsePolicyDocument } from "@runseal/policy/policy-document"
import { describe, expect, test } from "vitest"
import { makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { asJson, type Json, membersOf } from "../../../libs/core/test/fixtures/json-values.ts"
import { ROTATION, sealEvent } from "../../../libs/core/test/fixtures/sample-admin-events.ts"
import { exportText, stateExport } from "../../../libs/core/test/fixtures/sample-exports.ts"
import { FULL_DECLARED } from "../../../libs/core/test/fixtures/samples.ts"
import { END_USER } from "../../../libs/core/test/fixtures/vectors/end-user-vectors.ts"
import { commandsInFolder } from "./commands-in-folder.ts"
import { decidedOpening, decidedRun, type Request, type Retold } from "./decided-records.ts"

const deployment = makeDeployment({ seed: "decided again" })
const { folder, write, verifier, judged } = commandsInFolder("runseal-decided", deployment)

const TRANSFER = {
  name: "transfer",
  routes: ["payments/*"],
  names: { amount: { at: "/amount", type: "decimal" }, payee: { at: "/payee", type: "ascii" } },
}
const rulesOf = (limit: string): JsonValue => [
  { id: "transfers", effect: "allow", act: "transfer" },
  { id: "large", effect: "deny", act: "transfer", when: `context.act.amount.greaterThan(decimal("${limit}"))` },
]
const documentOf = (policy_id: string, rules: JsonValue, more: object = {}): JsonValue =>
  asValue({ policy_id, policy_name: policy_id, required_attested_fields: [], acts: [TRANSFER], rules, ...more })
const asValue = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value))

const PAYMENTS = documentOf("payments", rulesOf("100.0"))
const policy = parsePolicyDocument(PAYMENTS)
const policyFile = write("policy.json", PAYMENTS)
const paying = (amount: string): Request => ({
  route_id: "payments/transfer",
  payload: JSON.stringify({ amount, payee: "DE02" }),
})

describe("a record", () => {
  const denied = decidedRun(deployment, policy, paying("250"))
  const payload = write("payload.json", JSON.stringify({ amount: "250", payee: "DE02" }))

  test("is decided again on what the service stated, and from the payload", async () => {
    expect(await judged(denied, "--decided-by", policyFile)).toMatchObject({ exit: 0, decided: "facts" })
    expect(await judged(denied, "--decided-by", policyFile, "--payload", payload)).toMatchObject({
      exit: 0,
      decided: "payload",
      message: "DECIDED AGAIN FROM THE PAYLOAD; the signature scan is the service's word",
    })
  })

  test("is not decided again by another policy, without its act, without a decision, or as a receipt", async () => {
    const other = write("other.json", documentOf("payments", rulesOf("1000.0")))
    expect(await judged(denied, "--decided-by", other)).toMatchObject({ exit: 1, first_failure: "decided_again" })
    expect(await judged(denied, "--decided-by", other, "--other-policies")).toMatchObject({
      exit: 0,
      decided: "other_policy",
    })
    expect(await judged(withholdSections(denied, ["act"]), "--decided-by", policyFile)).toMatchObject({
      exit: 1,
      message: "NOT DECIDED AGAIN: act is withheld, and rule large reads it",
    })
    const broken = sealRun(deployment, { outcome: "stage_error", failed_step: "PEPG" })
    expect(await judged(broken.bundle, "--decided-by", policyFile)).toMatchObject({
      exit: 1,
      message: "NOT DECIDED AGAIN: the run ended before a policy judged it",
    })
    const { receipt } = sealRun(deployment, { outcome: "pepg_deny", denied_by: "rule" })
    expect(await judged(receipt, "--decided-by", policyFile)).toMatchObject({ exit: 1, decided: "not" })
  })

  test("names the version of the engine that decided, which --same-engine refuses", async () => {
    const { signature_scan } = denied.sections.policy_evaluation ?? {}
    const policy_hash = digest(policyPreimage(policy, signature_scan, "4.12.0"))
    const older = decidedRun(deployment, policy, paying("250"), {
      alter: { policy_evaluation: part => ({ ...membersOf(part), engine_version: "4.12.0", policy_hash }) },
    })
    expect(await judged(older, "--decided-by", policyFile)).toMatchObject({
      exit: 0,
      message:
        "DECIDED AGAIN ON FACTS THAT THE SERVICE STATED; the signature scan is the service's word; version 4.12.0 of the engine decided then",
    })
    expect(await judged(older, "--decided-by", policyFile, "--same-engine")).toMatchObject({ exit: 1, decided: "not" })
  })

  test("is not decided again where the engine does not load its policy", async () => {
    const document = documentOf("payments", [{ id: "all", effect: "allow", act: "transfer", when: "context.gone" }])
    const policy_hash = digest(policyPreimage(parsePolicyDocument(document), undefined, "9.0.0"))
    const record = decidedRun(deployment, policy, paying("250"), {
      alter: { policy_evaluation: part => ({ ...membersOf(part), engine_version: "9.0.0", policy_hash }) },
    })
    expect(await judged(record, "--decided-by", write("newer.json", document))).toMatchObject({
      exit: 1,
      message: "NOT DECIDED AGAIN: this version of the engine does not load its policy",
    })
  })

  test("of a signature that denied is decided again on the service's word, also with the payload", async () => {
    const matched = sealRun(deployment, {
      outcome: "pepg_deny",
      alter: {
        policy_evaluation: part => ({
          ...membersOf(part),
          policy_id: "plain",
          policy_name: "plain",
          policy_hash: digest(policyPreimage(parsePolicyDocument(PLAIN))),
        }),
      },
    }).bundle
    expect(await judged(matched, "--decided-by", write("plain.json", PLAIN))).toMatchObject({
      exit: 0,
      decided: "facts",
    })
  })
})
const PLAIN: JsonValue = {
  policy_id: "plain",
  policy_name: "plain",
  profile_tag: "eu",
  required_attested_fields: ["actor_id"],
  rules: [{ id: "all", effect: "allow" }],
}

describe("several documents", () => {
  const tenant = "api-key-3"
  const amounts = ["1", "250", "99"]
  const records = amounts.map(amount => decidedRun(deployment, policy, { ...paying(amount), tenant }))
  const changed = parsePolicyDocument(documentOf("payments", rulesOf("10.0")))
  const later = decidedRun(deployment, changed, { ...paying("50"), tenant })
  const broken = sealRun(deployment, { outcome: "stage_error", failed_step: "PEPG", tenant }).bundle
  const all = [...records, later, broken]
  const text = exportText(stateExport(deployment, all, { tenant }), ...all)
  const path = write("export.ndjson", text)
  const changedFile = write("changed.json", { policy: documentOf("payments", rulesOf("10.0")), version: 2 })
  const payloads = join(folder, "payloads")
  mkdirSync(payloads)
  writeFileSync(join(payloads, "first"), paying("1").payload ?? "")
  writeFileSync(join(payloads, "second.json"), paying("250").payload ?? "")
  const both = ["--decided-by", policyFile, "--decided-by", changedFile]

  test.each([
    ["a stream", []],
    ["a complete export", ["--complete"]],
  ])("%s counts what was decided again, from the payloads of a folder too", async (_, form) => {
    const { stdout, exit } = await verifier(path, ...form, "--json", ...both, "--payloads", payloads)
    const [last = ""] = form.length === 0 ? stdout.trimEnd().split("\n").slice(-1) : [stdout]
    const { decided_again } = JSON.parse(last)
    expect(exit).toBe(0)
    expect(decided_again).toEqual({ payload: 2, facts: 2, none: form.length === 0 ? 2 : 1 })
  })

  test.each([
    ["a stream", []],
    ["a complete export", ["--complete"]],
  ])("%s exits 1 for one record of a policy without a file, unless other policies may be", async (_, form) => {
    const one = await verifier(path, ...form, "--decided-by", policyFile)
    expect(one.exit).toBe(1)
    expect(one.stdout).toContain("NOT DECIDED AGAIN: none of the files is the policy of the record")
    const other = await verifier(path, ...form, "--decided-by", policyFile, "--other-policies")
    expect(other.exit).toBe(0)
    expect(other.stdout).toContain("1  decided by a policy of which no file was given")
  })

  test("a complete export lists its policies in time", async () => {
    const { stdout } = await verifier(path, "--complete", "--json", ...both)
    expect(JSON.parse(stdout).policies).toEqual([
      { clock: records[0]?.run.created_at, policy_id: "payments", policy_hash: digest(policyPreimage(policy)) },
      { clock: later.run.created_at, policy_id: "payments", policy_hash: digest(policyPreimage(changed)) },
    ])
  })

  test("an export of admin events lists the policies that were loaded, with who did it", async () => {
    const own = makeDeployment({ seed: "decided again" })
    const policy_hash = digest(policyPreimage(policy))
    const loaded = sealEvent(own, {
      ...ROTATION,
      action: "policy.load",
      subject: { kind: "policy", id: "payments" },
      after: { version: 2, policy_id: "payments", policy_hash, source: "api" },
    })
    const statement = stateExport(own, [], {
      tenant: "deployment",
      alter: {
        records: 0,
        events: 1,
        first_ordinal: 1,
        last_ordinal: 1,
        previous_record: loaded.leaf.previous_record,
        last_record: leafDigest(loaded.leaf),
      },
    })
    const file = write("events.ndjson", `${exportText(statement)}${JSON.stringify(loaded)}\n`)
    const { stdout, exit } = await verifier(file, "--complete", "--json", "--decided-by", policyFile)
    expect(exit).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      decided_again: { none: 1 },
      policies: [{ event: "policy.load", actor: "api-key-1", policy_id: "payments", policy_hash }],
    })
  })

  test("a stream with a refusal that was retold as an allow exits 1, and names its line", async () => {
    const retold = decidedRun(deployment, policy, paying("250"), {
      decision: {
        decision: "allow",
        decision_reason_code: "RULE_ALLOWED",
        fired_rule_id: "transfers",
        matched_rule_ids: ["transfers"],
      },
    })
    const { stdout, exit } = await verifier(
      write("retold.ndjson", `${JSON.stringify(records[0])}\n${JSON.stringify(retold)}\n`),
      "--decided-by",
      policyFile,
    )
    expect(exit).toBe(1)
    expect(stdout).toMatch(/line 2: FAILED; first failed check, decided_again: .*decision, decision_reason_code/)
  })

  test("options that go with --decided-by are refused without it, and expectations of one record with an export", async () => {
    expect(await verifier(path, "--payloads", payloads)).toMatchObject({ exit: 2 })
    expect(await verifier(path, "--same-engine")).toMatchObject({ exit: 2 })
    expect(await verifier(path, "--complete", "--decided-by", policyFile, "--route", "x")).toMatchObject({ exit: 2 })
    expect(await verifier(path, "--decided-by", policyFile, "--payloads", join(folder, "none"))).toMatchObject({
      exit: 2,
    })
  })
})

/** A condition on an attribute, by its type. */
const CONDITIONS: Readonly<Record<string, (path: string) => string>> = {
  String: path => `${path} == "x"`,
  Long: path => `${path} > 5`,
  Bool: path => path,
  decimal: path => `${path}.greaterThan(decimal("0.5"))`,
  datetime: path => `${path} > datetime("2020-01-01")`,
  "Set<String>": path => `${path}.contains("x")`,
}

/** One rule for each attribute of the context, which asks whether it is there first. */
const READING: JsonValue = [
  { id: "transfers", effect: "allow", act: "transfer" },
  ...Object.entries(CONTEXT_ROWS).flatMap(([record, rows]) =>
    Object.entries(rows).map(([name, { type, optional }]) => {
      const [parent, held] = record.split(".")
      const asked = held === undefined ? [] : [`context.${parent} has ${held}`]
      const path = `context.${record}.${name}`
      return {
        id: `${record}-${name}`.replace(/[._]/g, "-").toLowerCase(),
        effect: "allow",
        act: "transfer",
        when: [...asked, ...(optional ? [`context.${record} has ${name}`] : []), CONDITIONS[type]?.(path) ?? ""].join(
          " && ",
        ),
      }
    }),
  ),
  { id: "payee", effect: "allow", act: "transfer", when: 'context.act.payee == "x"' },
  { id: "large", effect: "deny", act: "transfer", when: 'context.act.amount.greaterThan(decimal("100.0"))' },
]

const reading = parsePolicyDocument(documentOf("reading", READING))
const readingFile = write("reading.json", documentOf("reading", READING))
const whole: Request = {
  ...paying("50"),
  declared: { ...FULL_DECLARED, request_substance: { cost: { total_tokens: 1240 } } },
  end_user: { ...END_USER, groups: ["x", "y"] },
}
const person = (changes: Partial<EndUser>): Retold => ({
  request: { end_user: { ...END_USER, groups: ["x", "y"], ...changes } },
})
const attested = (name: string, value: JsonValue): Retold => declaring("attested_context", { [name]: value })
const declaring = (section: keyof typeof FULL_DECLARED, changes: object): Retold => ({
  request: {
    declared: { ...whole.declared, [section]: asValue({ ...whole.declared?.[section], ...changes }) },
  },
})
const member = (part: Json, name: string, value: Json): Json => ({ ...membersOf(part), [name]: value })
const named = digest("another")
const approvers = [{ order: 1, actor_id: "lead-4", approved_at: "2026-01-15T11:40:00Z" }]

/** What an operator retells of each attribute. The terms of permits are apart. */
const RETOLD: Readonly<Record<string, Retold>> = {
  "bound.program_id": { request: { program_id: named } },
  "bound.route_id": { request: { route_id: "payments/refund" } },
  "verified.tenant_id": { request: { tenant: "api-key-9" } },
  "verified.key_name": {
    request: {
      origin: {
        source_ip_hash: named,
        user_agent_hash: named,
        authentication: { method: "api_key", api_key_id: 1, api_key_name: "another" },
      },
    },
  },
  "verified.region": { request: { execution_region: "us-east" } },
  "verified.clock": { request: { at: "2026-01-20T12:00:00.250Z" } },
  "verified.payload_bytes": { alter: { payload: part => member(part, "payload_bytes", 7) } },
  "verified.payload_is_json": {
    alter: {
      policy_evaluation: part => member(part, "facts", member(membersOf(part).facts ?? {}, "payload_is_json", false)),
    },
  },
  "verified.has_ai_output": { request: { ai_output: "Approve." } },
  "verified.end_user.issuer": person({ issuer: "https://other.example" }),
  "verified.end_user.subject": person({ subject: "another" }),
  "verified.end_user.audience": person({ audience: "another" }),
  "verified.end_user.client": person({ client: "another" }),
  "verified.end_user.groups": person({ groups: [] }),
  "declared.registry_record_hash": { request: { registry_record_hash: named } },
  "declared.tokens": declaring("request_substance", { cost: { total_tokens: 1 } }),
  "declared.approver_ids": declaring("authorization_chain", { approvers }),
  "declared.approver_count": declaring("authorization_chain", { approvers: [] }),
  "declared.breached_thresholds": declaring("authorization_chain", {
    threshold_checks: [
      { name: "amount", threshold_value: 1, observed_value: 2, unit: "EUR", operator: "<=", breached: true },
    ],
  }),
  "declared.human_in_loop_performed": declaring("authorization_chain", {
    human_in_loop: { required: true, performed: false },
  }),
  "declared.data_labels": declaring("regulatory_scaffolding", { data_classification: { gdpr: ["personal"] } }),
  "declared.effect_kinds": declaring("causal_graph", { effect_log: [] }),
  "declared.attested.attested": attested("attested", false),
  "declared.attested.model_temperature": attested("model_temperature", 0.5),
  ...Object.fromEntries(
    Object.entries(CONTEXT_ROWS["declared.attested"])
      .filter(([, { type }]) => type === "String")
      .map(([name]) => [`declared.attested.${name}`, attested(name, name === "prompt_hash" ? named : "another")]),
  ),
  "act.amount": {
    alter: {
      act: part =>
        member(part, "values", asJson([value("amount", "decimal", "51.0"), value("payee", "ascii", "DE02")])),
    },
  },
  "act.payee": {
    alter: {
      act: part =>
        member(part, "values", asJson([value("amount", "decimal", "50.0"), value("payee", "ascii", "DE03")])),
    },
  },
}
const value = (name: string, type: string, text: string) => ({ name, at: `/${name}`, type, value: text })

/** The same of a permit's terms. */
const TERMS = {
  "bound.audience": { audience: "another.example" },
  "bound.redeem_required": { redeem_required: true },
  "bound.valid_for_seconds": { valid_for_seconds: 60 },
} as const

describe("a record of which one member of the context is retold, under the decision and the hash of what was decided on", () => {
  test("speaks of every attribute that rules can read", () => {
    const every = Object.entries(CONTEXT_ROWS).flatMap(([record, rows]) =>
      Object.keys(rows).map(name => `${record}.${name}`),
    )
    const acts = Object.keys(TRANSFER.names).map(name => `act.${name}`)
    expect([...Object.keys(RETOLD), ...Object.keys(TERMS)].toSorted()).toEqual([...every, ...acts].toSorted())
  })

  test("is decided again as long as nothing is", async () => {
    const record = decidedRun(deployment, reading, whole)
    expect(await judged(record, "--decided-by", readingFile)).toMatchObject({ exit: 0, decided: "facts" })
  })

  test.each(Object.entries(RETOLD))("%s: exit 1", async (_, retold) => {
    const record = decidedRun(deployment, reading, whole, retold)
    expect(await judged(record, "--decided-by", readingFile)).toMatchObject({
      exit: 1,
      first_failure: "decided_again",
      message: expect.stringContaining("context_hash"),
    })
  })

  const [NAMING, SILENT] = ["naming", "silent"].map(name => {
    const rules: JsonValue = [
      { id: "all", effect: "allow" },
      ...(name === "silent"
        ? []
        : [
            {
              id: "blocked",
              effect: "deny",
              when: 'context.verified has end_user && context.verified.end_user.groups.contains("blocked")',
            },
          ]),
    ]
    return parsePolicyDocument(asValue({ policy_id: name, policy_name: name, required_attested_fields: [], rules }))
  })
  test.each([
    ["that could not be read, where no rule reads any", SILENT, { groups_unreadable: true }],
    ["where no rule reads any", SILENT, { groups: ["treasury"] }],
    ["left out, where a rule names one", NAMING, { groups: undefined }],
    ["that no rule names", NAMING, { groups: ["treasury"] }],
  ])("of an end user whose groups are retold as groups %s: exit 1", async (_, document, groups) => {
    if (document === undefined) throw new Error("there are two policies")
    const record = decidedRun(
      deployment,
      document,
      { end_user: END_USER },
      {
        alter: { end_user: part => asJson({ ...membersOf(part), ...groups }) },
        ...("groups_unreadable" in groups
          ? {
              decision: {
                decision: "deny" as const,
                decision_reason_code: "END_USER_UNREADABLE" as const,
                fired_rule_id: "policy-engine",
                matched_rule_ids: [],
              },
            }
          : {}),
      },
    )
    expect(await judged(record, "--decided-by", write("groups.json", document))).toMatchObject({
      exit: 1,
      first_failure: "decided_again",
      message: expect.stringContaining("end_user"),
    })
  })

  const TERM_RULES: JsonValue = [
    { id: "all", effect: "allow" },
    { id: "audience", effect: "allow", when: 'context.bound has audience && context.bound.audience == "x"' },
    { id: "redeemed", effect: "allow", when: "context.bound has redeem_required && context.bound.redeem_required" },
    {
      id: "long",
      effect: "deny",
      when: "context.bound has valid_for_seconds && context.bound.valid_for_seconds > 900",
    },
  ]
  const termsDocument = { policy_id: "terms", policy_name: "terms", required_attested_fields: [], rules: TERM_RULES }
  const terms = parsePolicyDocument(asValue(termsDocument))
  const termsFile = write("terms.json", termsDocument)

  test.each([["nothing", {}] as const, ...Object.entries(TERMS)])(
    "%s of the terms of a permit",
    async (name, changes) => {
      const opening = decidedOpening(deployment, terms, {}, changes)
      expect(await judged(opening, "--decided-by", termsFile)).toMatchObject(
        name === "nothing"
          ? { exit: 0, decided: "facts" }
          : { exit: 1, message: expect.stringContaining("context_hash") },
      )
    },
  )
})
