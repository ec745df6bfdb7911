/** docs/api.md, "Sealed artifacts" and "GET /runs/{id}/artifacts". */

import { describe, expect, test } from "vitest"
import { verdictOn } from "../../../libs/core/test/fixtures/judged.ts"
import { trustOf } from "./harness/auditor.ts"
import { expectRefused, keysOf, objectAt, textAt } from "./harness/read-answer.ts"
import { CASES, STATE_OF, standingSevenStates } from "./harness/seven-states.ts"
import { readStoredBundle } from "./harness/stored-bundle.ts"

const { service, answers, runId } = standingSevenStates()

const ENDPOINTS = [
  { path: "allow-token", key: "allow_token", state: "ok" },
  { path: "deny-receipt", key: "deny_receipt", state: "pepg_deny" },
  { path: "ccv-halt-receipt", key: "ccv_halt_receipt", state: "ccv_halt" },
  { path: "macc-halt-receipt", key: "macc_halt_receipt", state: "macc_halt" },
  { path: "aivp-t4-halt-receipt", key: "aivp_t4_halt_receipt", state: "aivp_t4_halt" },
  { path: "attestation-gap-receipt", key: "attestation_gap_receipt", state: "attestation_gap" },
] as const
const matrix = ENDPOINTS.flatMap(endpoint => CASES.map(name => ({ ...endpoint, name })))
const served = matrix.filter(({ name, state }) => STATE_OF[name] === state)
const missing = matrix.filter(({ name, state }) => STATE_OF[name] !== state)
const receipts = served.filter(({ state }) => state !== "ok")

const verdictOf = async (text: string): Promise<string> => verdictOn(text, [await trustOf(service())])

test.each(served)("GET …/$path serves the artifact of $name as it was answered", async ({ path, key, name }) => {
  const { status, body } = await service().get(`/runs/${runId(name)}/${path}`)
  expect(status).toBe(200)
  expect(body).toMatchObject({ ok: true, run_id: runId(name) })
  expect(body[key]).toEqual(answers()[name].body[key])
})

test.each(missing)("GET …/$path of $name is a 404 that names both states", async ({ path, key, name, state }) => {
  const answer = await service().get(`/runs/${runId(name)}/${path}`)
  const error = expectRefused(answer, 404)
  expect(error).toContain(STATE_OF[name])
  expect(error).toContain(state)
  expect(error).toContain(key)
})

test("the allow token comes without a receipt anchor", async () => {
  const { body } = await service().get(`/runs/${runId("ok")}/allow-token`)
  expect(keysOf(body)).toEqual(["allow_token", "ok", "run_id"])
})

describe.each(receipts)("the receipt document of $name", ({ path, key, name }) => {
  const document = () => service().get(`/runs/${runId(name)}/${path}`)

  test("is anchored under receipt anchor v2, which binds the run number", async () => {
    const { body } = await document()
    const leaf = objectAt(body, "receipt_anchor", "leaf")
    expect(objectAt(body, "receipt_anchor").version).toBe("vfa.receipt_anchor.v2")
    expect(leaf).toEqual({
      leaf_version: "vfa.receipt_anchor.v2",
      receipt_version: objectAt(body, key).version,
      receipt_hash: objectAt(body, key).hash,
      run_id: runId(name),
    })
  })

  test("verifies offline as it was served", async () => {
    const { text } = await document()
    expect(await verdictOf(text)).toBe("RECEIPT VERIFIED AND ANCHORED")
  })

  test("carries the entry that the bundle carries", async () => {
    const { body } = await document()
    const bundle = (await service().get(`/runs/${runId(name)}/artifacts?form=full`)).body
    const anchor = objectAt(bundle, "anchors", "receipt")
    expect({ leaf: objectAt(body, "receipt_anchor").leaf, entry: objectAt(body, "receipt_anchor").entry }).toEqual(
      anchor,
    )
  })
})

describe.each(CASES)("GET /runs/{id}/artifacts of %s", name => {
  const bundle = () => service().get(`/runs/${runId(name)}/artifacts`)

  test("serves the sealed bundle whole, to be saved as a file", async () => {
    const { status, headers, text } = await bundle()
    expect(status).toBe(200)
    expect(headers.get("content-type")).toMatch(/^application\/json/)
    expect(headers.get("content-disposition")).toMatch(/^attachment; filename="[\w.-]+\.json"$/)
    expect(text).toBe(await readStoredBundle(service().db, runId(name)))
  })

  test("in full is the same record, under another file name, and verifies as well", async () => {
    const [sealed, { headers, text, body }] = [
      await bundle(),
      await service().get(`/runs/${runId(name)}/artifacts?form=full`),
    ]
    expect(headers.get("content-disposition")).toContain("-full-bundle.json")
    expect(body).toMatchObject({ kind: "vfa.bundle_view.v1", bundle_hash: textAt(sealed.body, "bundle_hash") })
    expect(await verdictOf(text)).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
    expect((await service().get(`/runs/${runId(name)}/artifacts?form=sealed`)).text).toBe(sealed.text)
  })
})
