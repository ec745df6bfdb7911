/** Every object that `verifier --json` prints of a service's records fits the schema that `verifier json-schema` prints. */
import { mkdirSync, writeFileSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { serve } from "@hono/node-server"
import { beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { createApp } from "../src/app.ts"
import { Ajv2020 } from "./harness/ajv.ts"
import { CASES, standingSevenStates } from "./harness/seven-states.ts"
import { runVerifier } from "./harness/verifier.ts"

const { service, runId } = standingSevenStates()
const folder = testFolder("runseal-json-schema")
let validate: ReturnType<InstanceType<typeof Ajv2020>["compile"]>

beforeAll(async () => {
  const { stdout } = await runVerifier(folder, ["json-schema"])
  validate = new Ajv2020({ strict: true, allErrors: true }).compile(JSON.parse(stdout))
  const save = async (name: string, path: string): Promise<void> =>
    writeFileSync(join(folder, name), (await service().get(path)).text)
  mkdirSync(join(folder, "records"))
  for (const name of CASES) await save(`records/${name}.json`, `/runs/${runId(name)}/artifacts`)
  await save("receipt.json", `/runs/${runId("ccv_halt")}/ccv-halt-receipt`)
  await save("statement.json", `/runs/${runId("ok")}/statement.intoto.json`)
  await save("export.ndjson", "/runs/export")
  await save("trust.json", "/.well-known/runseal-trust.json")
  const made = await service().post("/attest", { digest: "5e".repeat(32), algorithm: "sha256" })
  writeFileSync(join(folder, "attestation.json"), made.text)
})

/** Serves the service while `use` runs. */
async function atAddress(use: (address: string) => Promise<void>): Promise<void> {
  const listening = serve({ fetch: createApp(service().deps).fetch, port: 0, hostname: "127.0.0.1" })
  await new Promise(resolve => listening.once("listening", resolve))
  try {
    await use(`http://127.0.0.1:${(listening.address() as AddressInfo).port}`)
  } finally {
    await new Promise(closed => listening.close(closed))
  }
}

/** The objects of standard output, one a line or one in all. */
async function printed(...args: readonly string[]): Promise<readonly unknown[]> {
  const { stdout, stderr } = await runVerifier(folder, [...args, "--json"])
  expect(stderr).toBe("")
  const lines = stdout.trimEnd().split("\n")
  return lines[0] === "{" ? [JSON.parse(stdout)] : lines.map(line => JSON.parse(line))
}

const DOCUMENTS = ["receipt.json", "attestation.json", "statement.json", "trust.json", "--trust", "trust.json"] as const

describe("the schema fits", () => {
  const trust = ["--trust", "trust.json"]
  test.each([
    ["every state of a run, in a folder", ["records", ...trust], CASES.length + 1],
    ["a record that is not as expected", ["records/ok.json", ...trust, "--tenant", "x", "--max-age", "1d"], 1],
    ["a record with its evidence, of no known key", ["records/ok.json", "--show-evidence-summary"], 1],
    ["a refused limitation", ["records/ok.json", ...trust, "--strict=software_attestation"], 1],
    ["receipt, attestation, statement, and what is no document", DOCUMENTS, DOCUMENTS.length - 1],
    ["an export line by line", ["export.ndjson", ...trust], CASES.length + 2],
    ["a complete export", ["export.ndjson", "--complete", ...trust], 1],
    ["an export of no known key", ["export.ndjson", "--complete"], 1],
  ] as const)("%s", async (_, args, count) => {
    const objects = await printed(...args)
    expect(objects).toHaveLength(count)
    for (const object of objects) {
      expect(object).toMatchObject({ schema_version: 1 })
      validate(object)
      expect(validate.errors ?? []).toEqual([])
    }
  })

  const FOREIGN = fileURLToPath(new URL("../../../libs/core/vectors/bundles/valid/ok-full.json", import.meta.url))
  test.each([
    ["LOG VERIFIED", trust],
    ["LOG EXTENSION VERIFIED", [...trust, "--quick"]],
    ["LOG VERIFIED", [...trust, "--holds", "records/ok.json"]],
    ["FAILED", [...trust, "--holds", FOREIGN]],
    ["FAILED", []],
  ])("an audit of the log: %s", async (verdict, args) => {
    await atAddress(async address => {
      const [object] = await printed("log", "audit", address, ...args)
      expect(object).toMatchObject({ schema_version: 1, verdict })
      validate(object)
      expect(validate.errors ?? []).toEqual([])
    })
  })

  test("and no object with another member, or without one", async () => {
    const [object] = await printed("receipt.json")
    expect(validate({ ...Object(object), other: 1 })).toBe(false)
    expect(validate({ ...Object(object), checks: undefined })).toBe(false)
  })
})
