/** Acts that people approve, as the TypeScript client and its doors make them. docs/sdk.md, "Acts that people approve". */
import {
  ApprovalPending,
  type Client,
  type ClientOptions,
  createClient,
  PermitRefusedError,
  type PermitRequest,
  PermitUsedError,
  type SealOptions,
  sealedCall,
} from "@runseal/sdk"
import { afterEach, beforeAll, describe, expect, test } from "vitest"
import { type Approver, approverBy, askingPolicy, mintAgentAndApprover } from "./harness/approving.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService(() => ({
  policy: askingPolicy('context.bound.route_id like "*/transfer"'),
  config: { approvals: "on" },
}))
const BASE = "http://runseal.test"
let apiKey: string
let approver: Approver
beforeAll(async () => {
  const fetch: ClientOptions["fetch"] = (url, init) => service().request(url.slice(BASE.length), init)
  const as = (key?: string): Client => createClient({ baseUrl: BASE, fetch, apiKey: key })
  const keys = await mintAgentAndApprover(as(), as)
  apiKey = keys.agent
  approver = approverBy(as(keys.approver))
})

/** What the client does between its requests: moves the clock of both, and whatever a test puts here. */
let meanwhile: () => Promise<void> = async () => undefined
afterEach(() => {
  meanwhile = async () => undefined
})

let away: (() => Promise<Response>) | undefined
afterEach(() => {
  away = undefined
})
function clientOf(options: ClientOptions = {}): Client {
  const { clock } = service()
  return createClient({
    baseUrl: BASE,
    apiKey,
    now: clock.nowMs,
    decisionMs: 8_000,
    // A deadline that nobody reaches, or a wait for people.
    sleep: async (ms, signal) => {
      await new Promise(resolve => setImmediate(resolve))
      if (ms > 5_000) return await new Promise(resolve => signal.addEventListener("abort", () => resolve()))
      clock.advance(ms)
      await meanwhile()
    },
    fetch: async (url, init) => await (away?.() ?? service().request(url.slice(BASE.length), init)),
    ...options,
  })
}

let orders = 0
const order = (): PermitRequest => ({
  program_id: "3f".repeat(32),
  route_id: "payments/transfer",
  registry_record_hash: "a9".repeat(32),
  payload: `{"order":${++orders}}`,
  audience: "payments",
  reserve_tokens: 0,
})
const paid = async () => ({ output: "paid" })
const thrown = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    error => error,
  )

async function pending(call: Promise<unknown>): Promise<ApprovalPending> {
  const error = await thrown(call)
  if (!(error instanceof ApprovalPending)) throw error
  return error
}

test("an act that people decide on is not begun: the error says where, and until when", async () => {
  const request = order()
  const error = await pending(clientOf().permit(request, () => Promise.reject(new Error("begun"))))
  const [approval_id = ""] = await approver.waiting()
  expect(error).toMatchObject({
    approval_id,
    address: `http://localhost/console/approval?id=${approval_id}`,
    expires_at: expect.stringMatching(/Z$/),
    message: `People decide on this call, until ${error.expires_at}: ${error.address}`,
  })
})

test("the same act again finds its request; once it was approved, it is permitted", async () => {
  const request = order()
  const first = await pending(clientOf().permit(request, paid))
  const second = await pending(clientOf().permits.open({ ...request, reproducibility_context: { attempt: 2 } }))
  expect(second.approval_id).toBe(first.approval_id)
  await approver.decide(first.approval_id, "approve")
  const { permit_id, run } = await clientOf().permit(request, paid)
  expect(run.outcome_kind).toBe("ok")
  expect(await clientOf().permits.collect(first.approval_id)).toMatchObject({ outcome_kind: "opened", permit_id })
})

test("under its idempotency key a decided request is collected, and gives the same permit again", async () => {
  const request = order()
  const once = { idempotencyKey: request.payload ?? "" }
  const { approval_id } = await pending(clientOf().permits.open(request, once))
  await approver.decide(approval_id, "approve")
  const opened = await clientOf().permits.open(request, once)
  expect(opened).toMatchObject({ outcome_kind: "opened", opening: { redeem_required: true } })
  expect(await clientOf().permits.open(request, once)).toEqual({ ...opened, permit: expect.any(String) })
})

test("a key that was used for a request names its address to another request", async () => {
  const headers = { "X-Service-Key": apiKey, "Content-Type": "application/json", "Idempotency-Key": '"asked"' }
  const ask = (body: object): Promise<Response> =>
    service().request("/permits", { method: "POST", headers, body: JSON.stringify(body) })
  const asked = await ask(order())
  const { approval_id } = await asked.json()
  expect([asked.status, asked.headers.get("retry-after")]).toEqual([202, "5"])
  const other = await ask(order())
  expect([other.status, other.headers.get("location")]).toEqual([409, `/approvals/${approval_id}`])
})

test("a rejected act is refused, and so is one that was withdrawn", async () => {
  const request = order()
  const { approval_id } = await pending(clientOf().permits.open(request))
  await approver.decide(approval_id, "reject")
  expect(await clientOf().permits.collect(approval_id)).toMatchObject({ explanation: { reason: "APPROVAL_REJECTED" } })
  expect(await thrown(clientOf().permit(request, paid))).toBeInstanceOf(PermitRefusedError)
  const other = await pending(clientOf().permits.open(order()))
  expect(await clientOf().withdrawApproval(other.approval_id)).toMatchObject({ state: "refused" })
})

describe("a wait", () => {
  test("ends with the permit, and begins its time when it is opened", async () => {
    let asked = 0
    meanwhile = async () => {
      const [approval_id = ""] = await approver.waiting()
      if (++asked === 3) await approver.decide(approval_id, "approve")
    }
    const polls: string[] = []
    const options = { approvalWaitMs: 60_000, onApprovalWait: (error: ApprovalPending) => polls.push(error.address) }
    const { run } = await clientOf().permit({ ...order(), valid_for_seconds: 10 }, paid, options)
    expect(run.outcome_kind).toBe("ok")
    expect(polls).toHaveLength(3)
  })

  test("ends with the refusal", async () => {
    meanwhile = async () => {
      await approver.decideAll("reject")
    }
    const refused = await thrown(clientOf().permit(order(), paid, { approvalWaitMs: 60_000 }))
    expect(refused).toMatchObject({ result: { explanation: { reason: "APPROVAL_REJECTED" } } })
  })

  test("is no longer than it may be", async () => {
    const since = service().clock.nowMs()
    await pending(clientOf().permit(order(), paid, { approvalWaitMs: 12_000 }))
    expect(Math.floor((service().clock.nowMs() - since) / 1000)).toBe(12)
  })

  test("ends when its caller aborts", async () => {
    const stop = new AbortController()
    meanwhile = async () => stop.abort("enough")
    const options = { approvalWaitMs: 60_000, signal: stop.signal }
    expect(await thrown(clientOf().permit(order(), paid, options))).toMatchObject({ name: "AbortedError" })
  })

  test("survives a service that is away for a moment", async () => {
    let asked = 0
    meanwhile = async () => {
      away = ++asked < 4 ? async () => Promise.reject(new TypeError("refused")) : undefined
      for (const id of await approver.waiting()) if (asked >= 4) await approver.decide(id, "approve")
    }
    const { run } = await clientOf({ retries: 0 }).permit(order(), paid, { approvalWaitMs: 60_000 })
    expect(run.outcome_kind).toBe("ok")
  })
})

describe("a call of a door that fails open", () => {
  const made: string[] = []
  const call = (tool: string, options: Partial<SealOptions> = {}, client = clientOf({ retries: 0 })) =>
    sealedCall(
      client,
      { door: "doors", called: { tool }, arguments: { order: ++orders } },
      { agent: "payer", fail: "open", ...options },
      async () => {
        made.push(tool)
        return { result: "made" }
      },
    )
  const newestPermit = async () => {
    for await (const permit of clientOf().permits.list({ limit: 1 })) return permit
    return undefined
  }
  afterEach(() => void made.splice(0))

  test("is not made while people decide", async () => {
    await pending(call("transfer"))
    expect(made).toEqual([])
  })

  test("is not made at the end of a wait in which the service is away", async () => {
    meanwhile = async () => {
      away = async () => Promise.reject(new TypeError("refused"))
    }
    const error = await pending(call("transfer", { approval_wait_ms: 20_000 }))
    expect(error.cause).toMatchObject({ name: "NetworkError" })
    expect(made).toEqual([])
  })

  test("is not made once it was rejected", async () => {
    meanwhile = async () => {
      await approver.decideAll("reject")
    }
    expect(await thrown(call("transfer", { approval_wait_ms: 20_000 }))).toBeInstanceOf(PermitRefusedError)
    expect(made).toEqual([])
  })

  test("redeems what was approved before it is made, once", async () => {
    meanwhile = async () => {
      await approver.decideAll("approve")
    }
    expect(await call("transfer", { approval_wait_ms: 20_000 })).toBe("made")
    expect(await newestPermit()).toMatchObject({
      state: "closed",
      redeem_required: true,
      redeemed_at: expect.any(String),
    })
  })

  test("is not made under a permit that another call used", async () => {
    meanwhile = async () => {
      for (const id of await approver.waiting()) {
        await approver.decide(id, "approve")
        const opened = await clientOf().permits.collect(id)
        if (opened.outcome_kind !== "opened") throw new Error("not opened")
        await clientOf().permits.redeem(opened.permit_id, opened.permit ?? "")
      }
    }
    expect(await thrown(call("transfer", { approval_wait_ms: 20_000 }))).toBeInstanceOf(PermitUsedError)
    expect(made).toEqual([])
    // It is still the other's to close.
    expect(await newestPermit()).toMatchObject({ state: "open" })
  })
})
