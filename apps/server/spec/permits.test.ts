import type { JsonObject } from "@runseal/canonical"
import { expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { textAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const asking = (changes: JsonObject = {}): JsonObject => {
  const { ai_output_text: _output, ...body } = request()
  return { ...body, reserve_tokens: 100, audience: "payments.example", ...changes }
}

eachDatabase("a permit", open => {
  const service = standingService(() => ({ open }))

  test("is opened, and closed", async () => {
    const opened = await service().post("/permits", asking())
    expect(opened.status, opened.text).toBe(201)
    const id = textAt(opened.body, "permit_id")
    const closed = await service().post(`/permits/${id}/close`, {
      outcome: "completed",
      ai_output_text: "done",
      request_substance: { cost: { total_tokens: 40 } },
    })
    expect(closed.status, closed.text).toBe(200)
    console.log(closed.text.slice(0, 3000))
  })
})
