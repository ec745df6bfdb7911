/** Why a run was refused, where a person reads of it: the answer, the verifier and the report say the same. docs/api.md, "Explanation". */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { JsonObject } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { askTool, hasTool } from "../../../libs/pdf/test/pdf-tools.ts"
import { ADMIN, mint } from "./harness/key-holders.ts"
import { numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { CASES, type CaseName, SEVEN_STATES_POLICY, STATE_OF, standingSevenStates } from "./harness/seven-states.ts"
import { standingService, type TestService } from "./harness/test-service.ts"
import { runVerifier } from "./harness/verifier.ts"

const folder = testFolder("runseal-explained")
const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)

/** What the command prints of a document, with the service's keys. */
const verified = async (document: string, trust: string, ...options: readonly string[]) => {
  write("document.json", document)
  write("trust.json", trust)
  return await runVerifier(folder, ["document.json", "--trust", "trust.json", ...options])
}
const trustOf = async (service: Pick<TestService, "get">): Promise<string> =>
  (await service.get("/.well-known/runseal-trust.json")).text

const POLICY: JsonObject = {
  policy_id: "payments",
  policy_name: "Payments",
  required_attested_fields: [],
  acts: [
    {
      name: "transfer",
      routes: ["payments/*"],
      names: { amount: { at: "/amount", type: "decimal" }, payee: { at: "/payee", type: "ascii" } },
    },
  ],
  rules: [
    { id: "transfers", effect: "allow", act: "transfer" },
    {
      id: "large",
      effect: "deny",
      act: "transfer",
      description: "Transfers above 10,000 need two people.",
      when: 'context.act.amount.greaterThan(decimal("10000.0")) && context.declared.approver_count < 2',
    },
  ],
}
const LARGE = request({
  route_id: "payments/transfer",
  payload: JSON.stringify({ amount: 12_500, payee: "DE02" }),
})
const EXPLANATION: JsonObject = {
  reason: "RULE_DENIED",
  rule_id: "large",
  description: "Transfers above 10,000 need two people.",
  read: [
    { name: "act.amount", value: "12500.0", word: "act", compared: "> 10000.0" },
    { name: "declared.approver_count", value: "0", word: "declared", compared: "< 2" },
  ],
}

describe("the verifier explains a refusal", () => {
  const { service, answers, runId } = standingSevenStates()
  const REFUSED = CASES.filter(name => !["ok", "stage_error"].includes(STATE_OF[name]))
  const recordOf = async (name: CaseName): Promise<string> =>
    (await service().get(`/runs/${runId(name)}/artifacts`)).text

  test.each(REFUSED)("%s: as the answer does, without what only the service has", async name => {
    const { title: _, reference: __, description: ___, ...answered } = objectAt(answers()[name].body, "explanation")
    const { read: ____, ...explanation } = answered
    const { stdout, exit } = await verified(await recordOf(name), await trustOf(service()), "--json")
    expect(exit).toBe(0)
    expect(JSON.parse(stdout).explanation).toEqual(explanation)
  })

  test("of a receipt alone too", async () => {
    const { text } = await service().get(`/runs/${runId("attestation_gap")}/attestation-gap-receipt`)
    const { stdout } = await verified(text, await trustOf(service()), "--json")
    expect(JSON.parse(stdout).explanation).toEqual(answers().attestation_gap.body.explanation)
  })

  test("and says nothing of the kind of a run that no gate refused, or of a forged record", async () => {
    const trust = await trustOf(service())
    for (const name of ["ok", "stage_error"] as const)
      expect(JSON.parse((await verified(await recordOf(name), trust, "--json")).stdout)).not.toHaveProperty(
        "explanation",
      )
    const forged = (await recordOf("ccv_halt")).replace('"budget_limit":1000', '"budget_limit":900')
    expect((await verified(forged, trust)).stdout).not.toContain("refused")
    const answer = JSON.parse((await verified(forged, trust, "--json")).stdout)
    expect(answer).not.toHaveProperty("explanation")
    expect(answer.claims.explanation).toMatchObject({ needed: 900 })
  })

  test("with the policy also by the rule's description and what the rule read, where a rule denied", async () => {
    write("policy.json", JSON.stringify(SEVEN_STATES_POLICY))
    for (const name of ["deny_by_rule", "aivp_t4_halt"] as const) {
      const options = ["--json", "--decided-by", "policy.json"]
      const { stdout } = await verified(await recordOf(name), await trustOf(service()), ...options)
      expect(JSON.parse(stdout).explanation, name).toEqual(answers()[name].body.explanation)
    }
  })
})

describe("a rule that has a description", () => {
  const service = standingService(() => ({ policy: POLICY }))

  test("explains itself in the answer and in the verifier's text", async () => {
    const { body } = await service().execute(LARGE)
    expect(body.explanation).toEqual(EXPLANATION)
    const { text } = await service().get(`/runs/${numberAt(body, "run_id")}/artifacts`)
    write("payments.json", JSON.stringify(POLICY))
    const alone = await verified(text, await trustOf(service()))
    expect(alone.stdout).toContain(
      "\nWhy it was refused\n  reason             RULE_DENIED\n  rule_id            large\n\nChecked",
    )
    expect(alone.stdout).toContain(`
The run, as its record says
  Who                key anonymous, in open mode
  What               transfer on payments/transfer: amount 12,500.00, payee DE02
  Why                amount 12,500.00 (act); payee DE02 (act)
  When               `)
    const { stdout, exit } = await verified(text, await trustOf(service()), "--decided-by", "payments.json")
    expect(exit).toBe(0)
    expect(stdout).toContain(
      "\n  Why                amount 12,500.00 (act), above 10,000.00; approvals 0 of 2 (declared)\n",
    )
    expect(stdout).toContain(`
Why it was refused
  reason             RULE_DENIED
  rule_id            large
  description        Transfers above 10,000 need two people.
  read               act.amount 12500.0, read by the service from the payload
  read               declared.approver_count 0, declared by the caller
`)
  })

  test("does not explain itself where the decision is not made again: another policy, or without what it read", async () => {
    const { body } = await service().execute(LARGE)
    const { text } = await service().get(`/runs/${numberAt(body, "run_id")}/artifacts`)
    const trust = await trustOf(service())
    write("payments.json", JSON.stringify(POLICY))
    write("other.json", JSON.stringify({ ...POLICY, policy_name: "Others" }))
    write("whole.json", text)
    const withholding = ["withhold", "whole.json", "--section", "act", "--trust", "trust.json"]
    const { stdout: withheld } = await runVerifier(folder, withholding)
    for (const [document, policy] of [
      [text, "other.json"],
      [withheld, "payments.json"],
    ] as const) {
      const { stdout } = await verified(document, trust, "--json", "--decided-by", policy)
      expect(JSON.parse(stdout)).toMatchObject({ exit_code: 1, first_failure: "decided_again" })
      expect(JSON.parse(stdout).explanation).toEqual({ reason: "RULE_DENIED", rule_id: "large" })
    }
  })
})

describe.skipIf(!hasTool("pdftotext"))("the first page of a report (skipped without poppler)", () => {
  /** The text of the first page, each row of blanks as one. */
  const firstPage = async (service: TestService, path: string, key?: string): Promise<string> => {
    const response = await service.request(path, key === undefined ? {} : { headers: { "X-Service-Key": key } })
    expect(response.status).toBe(200)
    const pdf = new Uint8Array(await response.arrayBuffer())
    return askTool("pdftotext", pdf, "-layout", "-l", "1", "FILE", "-").text.replace(/\s+/g, " ")
  }
  const attempted = "Attempted transfer on payments/transfer: amount 12,500.00, payee DE02"
  const why = "Stopped by rule large of the policy"
  const described = `${why}: Transfers above 10,000 need two people`
  const read = "Why amount 12,500.00 (act), above 10,000.00; approvals 0 of 2 (declared)"
  const rule =
    'The rule deny act transfer when context.act.amount.greaterThan(decimal("10000.0")) && context.declared.approver_count < 2'

  describe.each(["owner", "admins"] as const)("with --explain %s", explain => {
    const service = standingService(() => ({ policy: POLICY, config: { explain } }))

    test("says what was attempted and what stopped it; what the policy adds, to those who may see it", async () => {
      const admin = await mint(service(), ADMIN)
      const acme = await mint(service(), { name: "acme", tier: "production" }, admin)
      const { body } = await acme.execute(LARGE)
      const id = numberAt(body, "run_id")
      const { body: link } = await admin.post(`/admin/runs/${id}/share`, {})
      const shared = new URL(textAt(link, "url")).pathname
      const pages = {
        admin: await firstPage(service(), `/admin/runs/${id}/report.pdf?format=brief`, admin.secret),
        acme: await firstPage(service(), `/runs/${id}/report.pdf?format=brief`, acme.secret),
        link: await firstPage(service(), `${shared}/report.pdf?format=brief`),
      }
      const seen = { admin: true, acme: explain === "owner", link: false }
      for (const [who, page] of Object.entries(pages)) {
        const isSeen = Object.entries(seen).some(([name, sees]) => name === who && sees)
        expect(page, who).toContain(attempted)
        expect(page, who).toMatch(/By key api-key-\d+ \(customer:acme\)/)
        expect(page, who).toContain("You can rely on once verified as below: the service refused this")
        expect(page, who).toContain(
          isSeen ? `${described} ${read}` : `${why} Why amount 12,500.00 (act); payee DE02 (act)`,
        )
        expect(page.includes(rule), who).toBe(isSeen)
        if (!isSeen) expect(page, who).not.toMatch(/two people|The rule deny|above 10,000/)
      }
    })
  })
})
