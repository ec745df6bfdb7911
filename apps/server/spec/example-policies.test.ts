/** The policies to start from: docs/policy-and-review.md, "Policies to start from". Each is checked and tested by the commands that its reader has. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseStrictJson } from "@runseal/canonical"
import { CONTEXT_ROWS } from "@runseal/core/formulas/policy-context"
import { POLICY_REASON_CODES } from "@runseal/core/vocabulary/decision-codes"
import { loadPolicy } from "@runseal/policy/load-policy"
import { parsePolicyDocument } from "@runseal/policy/policy-document"
import { describe, expect, test } from "vitest"
import { readConfig } from "../src/options/config.ts"
import { doWithPolicy } from "../src/policy-commands.ts"
import { listAt } from "./harness/read-answer.ts"

const folder = fileURLToPath(new URL("../../../examples/policies/", import.meta.url))
const NAMES = readdirSync(`${folder}cases`).map(file => file.replace(".json", ""))
const [policyOf, casesOf] = [(name: string) => `${folder}${name}.json`, (name: string) => `${folder}cases/${name}.json`]

function command(...words: readonly string[]) {
  const config = readConfig(["--region", "eu-central-1", "policy", ...words], {})
  if (!("policyCommand" in config) || config.policyCommand === undefined) throw new Error("no command was read")
  return doWithPolicy(config, config.policyCommand)
}

/** What the check says of the declarations that two of them ask for. */
const WARNINGS: Readonly<Record<string, string>> = {
  "regulated-payments": "deny-without-two-declared-approvers does not deny a caller that declares otherwise",
  "data-export": "no-labelled-data does not deny a caller that declares otherwise",
}

describe.each(NAMES)("%s", name => {
  test("decides its cases: something is admitted, an act is unreadable, a route is not listed", () => {
    const { passed, json } = command("test", policyOf(name), casesOf(name))
    const found = listAt(json, "results")
    expect(
      found.filter(each => !(typeof each === "object" && each !== null && "passed" in each && each.passed)),
    ).toEqual([])
    expect(passed).toBe(true)
    expect(found).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ found: expect.objectContaining({ decision: "admitted" }) }),
        expect.objectContaining({ found: expect.objectContaining({ reason: "ACT_UNREADABLE" }) }),
        expect.objectContaining({ found: expect.objectContaining({ reason: "DEFAULT_DENY" }) }),
      ]),
    )
  })

  test("denies a route that it does not list, and the check warns of nothing but declarations that it asks for", () => {
    const { json } = command("check", policyOf(name))
    // How long a rule takes depends on the machine.
    const warnings = listAt(json, "warnings").filter(text => !`${text}`.includes(" ms for a large request"))
    expect(warnings).toEqual(WARNINGS[name] === undefined ? [] : [expect.stringContaining(WARNINGS[name])])
    expect(listAt(json, "examples")[1]).toMatchObject(
      name === "regulated-payments" ? { decision: "denied", rule_id: "default-deny" } : { rule_id: "default-deny" },
    )
  })

  test("asks `has` for no name that is required", () => {
    const { acts = [], rules } = parsePolicyDocument(parseStrictJson(readFileSync(policyOf(name))))
    const required = acts.flatMap(({ names }) =>
      Object.entries(names).flatMap(([each, { optional }]) => (optional === true ? [] : [each])),
    )
    expect(required.length).toBeGreaterThan(0)
    for (const { when = "" } of rules)
      for (const each of required) expect(when).not.toMatch(new RegExp(`context\\.act has ${each}\\b`))
  })
})

test("every policy of the folder has cases, but for the one that admits every run", () => {
  const policies = readdirSync(folder).filter(file => file.endsWith(".json"))
  expect(policies.map(file => file.replace(".json", ""))).toEqual(["baseline", ...NAMES].toSorted())
})

describe("the guide", () => {
  const guide = readFileSync(new URL("../../../docs/policy-and-review.md", import.meta.url), "utf8")

  test("begins with a policy that loads as it shows it", () => {
    const [, example = ""] = /```json\n([\s\S]*?)```/.exec(guide) ?? []
    expect(loadPolicy(parseStrictJson(example)).policy_id).toBe("payments")
  })

  test("names every attribute and every reason of a policy", () => {
    const names = Object.entries(CONTEXT_ROWS).flatMap(([record, rows]) =>
      Object.keys(rows).map(name => (record.includes(".") ? name : `${record}.${name}`)),
    )
    expect(names.length).toBeGreaterThan(20)
    for (const name of [...names, ...POLICY_REASON_CODES]) expect(guide).toContain(`\`${name}\``)
  })
})
