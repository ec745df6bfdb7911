/** A mebibyte that is slow to look through: judged like any other, and nobody else waits for it. */
import { describe, expect, test } from "vitest"
import { LARGE_TEXT_UNITS } from "../src/inspection/inspection.ts"
import { textAt } from "./harness/read-answer.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()
const PRIVATE_KEY = `-----BEGIN PRIVATE KEY-----\n${"MIGHAgEAMBMGByqGSM49".repeat(5)}\n-----END PRIVATE KEY-----`
const filler = "An ordinary line of a long document.\n".repeat(LARGE_TEXT_UNITS / 32)

describe("a large text", () => {
  test("is scanned to its end", async () => {
    const { status, body } = await service().execute(request({ payload: `${filler}${EICAR}` }))
    expect([status, body.error_stage]).toEqual([422, "PEPG"])
    expect((await service().execute(request({ payload: filler }))).status).toBe(200)
  })

  test("is reviewed to its end", async () => {
    const { status, body } = await service().execute(request({ ai_output_text: `${filler}${PRIVATE_KEY}` }))
    expect([status, body.error_stage]).toEqual([422, "AIVP_T4"])
    expect(textAt(body, "aivp_t4_halt_receipt", "decision_reason")).toBe("PRIVATE_KEY_EXPOSED")
    expect((await service().execute(request({ ai_output_text: filler }))).status).toBe(200)
  })

  test("gives the same under /execute/verify-determinism", async () => {
    const { body } = await service().post("/execute/verify-determinism", request({ payload: `${filler}${EICAR}` }))
    expect(body.deterministic).toBe(true)
  })
})

test("others are answered while the slowest text is scanned", async () => {
  /** A mebibyte in which each character unfolds into eighteen. */
  const payload = "\ufdfa".repeat(340_000)
  let answered = false
  const answer = service()
    .execute(request({ payload }))
    .finally(() => {
      answered = true
    })
  let others = 0
  while (!answered) {
    expect((await service().get("/health")).status).toBe(200)
    others += 1
    await new Promise(done => setTimeout(done, 5))
  }
  expect((await answer).status).toBe(200)
  // On the main thread the scan would be one pause, with an answer before it and one behind.
  expect(others).toBeGreaterThan(5)
})
