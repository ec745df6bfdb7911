/** A refused request: a 4xx in the error envelope that echoes nothing and leaves nothing behind. */
import { expect } from "vitest"
import { type Answer, expectRefused } from "./read-answer.ts"
import { minted } from "./read-tables.ts"
import type { TestService } from "./test-service.ts"

/** Part of what is refused; no answer and no log line may ever hold it. */
export const CANARY = "canary-4b1d-not-to-be-echoed"

/** The error of a request that must be refused. */
export async function refusal(
  service: TestService,
  send: (service: TestService) => Promise<Answer>,
  status = 400,
): Promise<string> {
  const before = await minted(service.db)
  const answer = await send(service)
  const error = expectRefused(answer, status)
  expect(await minted(service.db), "nothing is minted").toEqual(before)
  expect(answer.text).not.toContain(CANARY)
  expect([...answer.headers].flat().join("\n")).not.toContain(CANARY)
  expect(service.logLines.join("\n")).not.toContain(CANARY)
  return error
}
