/** The rehearsal of a run: docs/api.md, "POST /execute/verify-determinism". */
import { expect, test } from "vitest"
import { expectRefused, textAt } from "./harness/read-answer.ts"
import { minted } from "./harness/read-tables.ts"
import { CASES, REQUESTS, standingSevenStates } from "./harness/seven-states.ts"

const { service, answers, stub } = standingSevenStates()

test.each(CASES)("%s is deterministic; nothing is stored, charged or anchored", async name => {
  const before = await minted(service().db)
  const { status, body } = await service().post("/execute/verify-determinism", REQUESTS[name])
  const hash = name === "stage_error" ? "" : expect.stringMatching(/^[0-9a-f]{64}$/)
  expect(status).toBe(200)
  expect(body).toEqual({
    ok: true,
    deterministic: true,
    first: { manifest_hash: hash },
    second: { manifest_hash: hash },
    diff: { differs: false, differing_fields: [] },
  })
  expect(body.first).toEqual(body.second)
  expect(await minted(service().db)).toEqual(before)
})

test("it is another hash than that of the run, and another each time: clock and nonce are fresh", async () => {
  const one = await service().post("/execute/verify-determinism", REQUESTS.ok)
  const two = await service().post("/execute/verify-determinism", REQUESTS.ok)
  expect(one.body.first).not.toEqual(two.body.first)
  expect(one.text).not.toContain(textAt(answers().ok.body, "manifest", "ManifestHash"))
})

test("it asks the reviewer once", async () => {
  const before = stub().calls.length
  await service().post("/execute/verify-determinism", REQUESTS.ok)
  expect(stub().calls.length - before).toBe(1)
})

test("it shows what a window near its cap would do without charging it", async () => {
  const before = await minted(service().db)
  for (let i = 0; i < 3; i++) {
    const { body } = await service().post("/execute/verify-determinism", REQUESTS.macc_halt)
    expect(body.deterministic).toBe(true)
  }
  expect(await minted(service().db)).toEqual(before)
})

test("a bad request is refused as /execute refuses it", async () => {
  const answer = await service().post("/execute/verify-determinism", { ...REQUESTS.ok, route_id: "" })
  expect(expectRefused(answer, 400)).toContain("route_id")
})
