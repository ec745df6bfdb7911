/** The two events of a call may reach two processes of the service: docs/doors/claude-code.md. */
import type { JsonObject } from "@runseal/canonical"
import { expect, test } from "vitest"
import { numberAt } from "./harness/read-answer.ts"
import type { TestService } from "./harness/test-service.ts"
import { standingTwins } from "./harness/twin-services.ts"

const twins = standingTwins()
const call = (tool_use_id: string): JsonObject => ({
  session_id: "s",
  tool_name: "Bash",
  tool_input: { command: "ls" },
  tool_use_id,
})
const hook = async (service: TestService, body: JsonObject): Promise<void> => {
  const answer = await service.post("/hooks/claude-code", body)
  expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: {} })
}
const total = async (service: TestService, path: string): Promise<number> =>
  numberAt((await service.get(path)).body, "total")

test("a call that is permitted by one process is closed by another, once", async () => {
  const [one, other] = twins()
  const post = (id: string) => ({ ...call(id), hook_event_name: "PostToolUse", tool_response: "done" })
  for (const id of ["1", "2", "3"]) {
    await hook(one, { ...call(id), hook_event_name: "PreToolUse" })
    await hook(other, post(id))
    await hook(one, post(id))
  }
  await Promise.all([hook(one, post("4")), hook(other, post("4"))])
  expect([await total(one, "/runs"), await total(other, "/permits?state=closed")]).toEqual([4, 4])
  expect(await total(one, "/permits?state=open")).toBe(0)
})
