import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseStrictJson } from "@runseal/canonical"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { executeRequestSchema } from "@runseal/core/wire/execute-request"
import { expect, test } from "vitest"
import { ACTS } from "./demo-plan.ts"

const EXAMPLES = fileURLToPath(new URL("../../../examples", import.meta.url))
const files = readdirSync(EXAMPLES).filter(name => name.endsWith(".json"))
const read = (name: string): string => readFileSync(`${EXAMPLES}/${name}`, "utf8")
const planned = ACTS.flatMap(act => act.runs)

test("every outcome is planned", () => {
  expect(new Set(planned.map(run => run.outcome))).toEqual(new Set(OUTCOME_KINDS))
})

test.each(files)("examples/%s is a request that the service takes as it is", name => {
  expect(parseExact(executeRequestSchema, parseStrictJson(read(name)))).toMatchObject({ ok: true })
})

test.each(files)("examples/README.md tells of %s", name => {
  expect(read("README.md")).toContain(`[${name}](${name})`)
})

test("every example is in the demo", () => {
  expect(new Set(planned.map(run => `${run.example}.json`))).toEqual(new Set(files))
})

test("examples/README.md names the outcome that the demo expects", () => {
  const rows = read("README.md").split("\n")
  for (const { example, outcome } of planned)
    expect(rows.find(row => row.includes(`(${example}.json)`))).toContain(`\`${outcome}\``)
})
