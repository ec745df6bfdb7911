/** Hooks of calls that people decide on. docs/doors/claude-code.md, "When people decide". */
import type { JsonObject } from "@runseal/canonical"
import { type Client, createClient } from "@runseal/sdk"
import { beforeAll, expect, test } from "vitest"
import { type Approver, approvalIn, approverBy, askingPolicy, mintAgentAndApprover } from "./harness/approving.ts"
import { caller, type Holder } from "./harness/key-holders.ts"
import { type Answer, listAt, objectAt, textAt } from "./harness/read-answer.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService(() => ({
  policy: askingPolicy('context.bound.route_id == "claude-code/Bash"'),
  config: { approvals: "on" },
}))
let agent: Holder
let approver: Approver
beforeAll(async () => {
  const BASE = "http://runseal.test"
  const as = (apiKey?: string): Client =>
    createClient({ baseUrl: BASE, apiKey, fetch: (url, init) => service().request(url.slice(BASE.length), init) })
  const keys = await mintAgentAndApprover(as(), as)
  agent = caller(service(), keys.agent)
  approver = approverBy(as(keys.approver))
})

let calls = 0
/** A call of a tool under an id of its own. */
const call = (command: string, changes: JsonObject = {}): JsonObject => ({
  session_id: "84a6246b-7281-40bd-8f9a-f72671f3c08d",
  cwd: "p",
  tool_name: "Bash",
  tool_input: { command },
  tool_use_id: `toolu_${++calls}`,
  ...changes,
})
const hook = (hook_event_name: string, of: JsonObject, query = ""): Promise<Answer> =>
  agent.post(`/hooks/claude-code${query}`, { ...of, hook_event_name })
const before = (of: JsonObject, query?: string): Promise<Answer> => hook("PreToolUse", of, query)
const after = (of: JsonObject): Promise<Answer> => hook("PostToolUse", { ...of, tool_response: { stdout: "done" } })
const deniedReason = ({ status, body, text }: Answer): string => {
  expect(status, text).toBe(200)
  expect(objectAt(body, "hookSpecificOutput")).toMatchObject({ permissionDecision: "deny" })
  return textAt(body, "hookSpecificOutput", "permissionDecisionReason")
}
const expectPermitted = ({ status, body, text }: Answer): void => {
  expect({ status, body }, text).toEqual({ status: 200, body: {} })
}
const newest = async (list: "runs" | "permits"): Promise<JsonObject> =>
  objectAt(listAt((await agent.get(`/${list}?limit=1`)).body, list)[0])

test("a call that people decide on is denied, and the reason says where; the same call again is made, and sealed", async () => {
  const reason = deniedReason(await before(call("deploy"), "?fail=open"))
  expect(reason).toMatch(/^Runseal: People decide on this call, until \S+Z: http:/)
  const approval_id = approvalIn(reason)
  // It is found by its session and arguments; its id is another one.
  expect(approvalIn(deniedReason(await before(call("deploy"))))).toBe(approval_id)
  await approver.decide(approval_id, "approve")
  const made = call("deploy")
  expectPermitted(await before(made))
  expect(await newest("permits")).toMatchObject({ state: "open", redeemed_at: expect.any(String) })
  expectPermitted(await after(made))
  expect(await newest("permits")).toMatchObject({ state: "closed" })
  const run = await newest("runs")
  expect(run).toMatchObject({ outcome_kind: "ok", closing_outcome: "completed" })
  expect(run.enforcement).toBeUndefined()
  // Approved was one call.
  expect(approvalIn(deniedReason(await before(call("deploy"))))).not.toBe(approval_id)
})

test("the event of one call that comes twice is permitted twice, before and after people decided", async () => {
  const twice = call("restart")
  const approval_id = approvalIn(deniedReason(await before(twice)))
  await approver.decide(approval_id, "approve")
  expectPermitted(await before(twice))
  expectPermitted(await before(twice))
  expectPermitted(await after(twice))
  expect(await newest("permits")).toMatchObject({ state: "closed" })
  expect((await newest("runs")).enforcement).toBeUndefined()
})

test("one approval is one call: the event of the call that asked asks anew once another call was made under it", async () => {
  const [asking, made] = [call("migrate"), call("migrate")]
  const approval_id = approvalIn(deniedReason(await before(asking)))
  await approver.decide(approval_id, "approve")
  expectPermitted(await before(made))
  const anew = approvalIn(deniedReason(await before(asking, "?fail=open")))
  expect(anew).not.toBe(approval_id)
  expectPermitted(await before(made))
  // What people decide then is for the call that asked, once.
  await approver.decide(anew, "approve")
  expectPermitted(await before(asking))
  expectPermitted(await before(asking))
  const own = await newest("permits")
  expectPermitted(await after(made))
  expect(await newest("permits")).toMatchObject({ permit_id: own.permit_id, state: "open" })
  expectPermitted(await after(asking))
  expect(await newest("permits")).toMatchObject({ permit_id: own.permit_id, state: "closed" })
  expect((await newest("runs")).enforcement).toBeUndefined()
})

test("a denied call that was made is sealed as observed, and does not use up what people approved", async () => {
  const made = call("rotate")
  const approval_id = approvalIn(deniedReason(await before(made)))
  await approver.decide(approval_id, "approve")
  const waiting = await approver.waiting()
  await after(made)
  expect(await newest("runs")).toMatchObject({ enforcement: "observe" })
  expectPermitted(await before(call("rotate")))
  // Nor is it taken for the call that was made under it, and nobody is asked anew.
  await after(made)
  expect(await approver.waiting()).toEqual(waiting)
  expect(await newest("permits")).toMatchObject({ state: "open" })
})

test("a call that people rejected is denied with the receipt", async () => {
  const approval_id = approvalIn(deniedReason(await before(call("drop"))))
  await approver.decide(approval_id, "reject")
  expect(deniedReason(await before(call("drop"), "?fail=open"))).toMatch(
    /Refused by Runseal.*receipt is that of run \d+/,
  )
})

test("another session finds nothing: its call is denied, also where hooks fail open", async () => {
  deniedReason(await before(call("purge")))
  expect(deniedReason(await before(call("purge", { session_id: "another" }), "?fail=open"))).toContain(
    "waits for an approval",
  )
})

test("a call that was made although it was denied is sealed as observed", async () => {
  const made = call("force")
  deniedReason(await before(made))
  await after(made)
  expect(await newest("runs")).toMatchObject({ enforcement: "observe" })
})
