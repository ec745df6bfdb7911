/** An act under a permit is closed, whatever happens. */
import { parseStrictJson, sha256Hex } from "@runseal/canonical"
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import {
  AbortedError,
  ActFailedError,
  type ActivePermit,
  ActTimeoutError,
  type Client,
  type ClientOptions,
  ConflictError,
  createClient,
  InvalidArgumentError,
  OutputRefusedError,
  PermitNotClosedError,
  PermitRefusedError,
  type PermitRequest,
} from "./index.ts"

let service: Service
const clientOf = (options: ClientOptions = {}): Client =>
  createClient({ baseUrl: service.baseUrl, apiKey: API_KEY, random: () => 0, ...options })
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())
beforeEach(() => void service.asked.splice(0))

const REQUEST = {
  program_id: "a".repeat(64),
  route_id: "payments/transfer",
  registry_record_hash: "b".repeat(64),
  payload: "pay 120.00 to DE02",
  audience: "payments",
  reserve_tokens: 100,
} satisfies PermitRequest

/** What was sent to close permits, in order. */
const closings = (): unknown[] =>
  service.asked.filter(({ path }) => path.endsWith("/close")).map(({ body }) => parseStrictJson(body))
const paid = async () => ({ output: "paid" })

test("an act is permitted, done and sealed", async () => {
  let seen: ActivePermit | undefined
  const act = async (permit: ActivePermit) => {
    seen = permit
    return {
      output: { paid: true },
      effects: [{ effect_kind: "funds_transfer", target: "bank" }],
      cost: { total_tokens: 12 },
    }
  }
  const { output, run, permit_id } = await clientOf().permit(REQUEST, act)
  expect(output).toEqual({ paid: true })
  expect(run).toMatchObject({ outcome_kind: "ok", run_id: 1 })
  expect(seen).toMatchObject({ permit_id, permit: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) })
  expect(closings()).toEqual([
    {
      outcome: "completed",
      ai_output_text: '{"paid":true}',
      causal_graph: { effect_log: [{ effect_kind: "funds_transfer", target: "bank" }] },
      request_substance: { cost: { total_tokens: 12 } },
    },
  ])
})

test("an output that is a text is sealed as it is, and none is not sealed", async () => {
  await clientOf().permit(REQUEST, paid)
  expect(await clientOf().permit(REQUEST, async () => ({ output: undefined }))).toMatchObject({ output: undefined })
  expect(closings()).toEqual([{ outcome: "completed", ai_output_text: "paid" }, { outcome: "completed" }])
})

test("an output that is not captured is not sent: its hash is declared beside what the act used", async () => {
  const act = async () => ({ output: { paid: true }, cost: { total_tokens: 12 } })
  const { output } = await clientOf().permit(REQUEST, act, { captureContent: false })
  expect(output).toEqual({ paid: true })
  await clientOf().permit(REQUEST, async () => ({ output: undefined }), { captureContent: false })
  const request_substance = { cost: { total_tokens: 12 }, output: { hash: sha256Hex('{"paid":true}') } }
  expect(closings()).toEqual([{ outcome: "completed", request_substance }, { outcome: "completed" }])
})

test("an act that is refused is not begun", async () => {
  const refused = clientOf().permit({ ...REQUEST, payload: "pepg_deny" }, () => {
    throw new Error("begun")
  })
  await expect(refused).rejects.toThrow(PermitRefusedError)
  await expect(refused).rejects.toMatchObject({ result: { outcome_kind: "pepg_deny", deny_receipt: {} } })
  expect(closings()).toEqual([])
})

test("a lost answer opens no second permit: both calls have one random key", async () => {
  service.faults.push(response => response.destroy())
  await clientOf().permit(REQUEST, paid)
  const keys = service.asked.filter(({ path }) => path === "/permits").map(({ headers }) => headers["idempotency-key"])
  expect(keys).toEqual([expect.stringMatching(/^"[0-9a-f]{32}"$/), keys[0]])
  await clientOf({ newIdempotencyKey: () => "own" }).permit(REQUEST, paid)
  expect(service.asked.at(-2)?.headers["idempotency-key"]).toBe('"own"')
})

describe("an act that fails", () => {
  test("is closed as failed, and its error is thrown again", async () => {
    const error = new Error("the bank is down")
    const failed = clientOf().permit(REQUEST, async () => Promise.reject(error))
    await expect(failed).rejects.toBe(error)
    expect(closings()).toEqual([{ outcome: "failed", code: "EXECUTOR_FAILED" }])
  })

  test("is closed with the code that it knows", async () => {
    const failed = clientOf().permit(REQUEST, async () => {
      throw new ActFailedError("EXECUTOR_REFUSED", "The bank refused the permit.")
    })
    await expect(failed).rejects.toThrow("The bank refused the permit.")
    expect(closings()).toEqual([{ outcome: "failed", code: "EXECUTOR_REFUSED" }])
  })

  test("throws its own error also when the close fails", async () => {
    const error = new Error("the bank is down")
    const failed = clientOf().permit(REQUEST, async () => {
      service.faults.push(response => response.writeHead(409).end("{}"))
      throw error
    })
    await expect(failed).rejects.toBe(error)
    expect(closings()).toHaveLength(1)
  })

  test("has failed when its output cannot be sealed, and its effects and tokens are sealed", async () => {
    const effects = [{ effect_type: "transfer", target: "account-7" }]
    const failed = clientOf().permit(REQUEST, async () => ({ output: () => 1, effects, cost: { total_tokens: 12 } }))
    await expect(failed).rejects.toThrow(InvalidArgumentError)
    const declared = {
      causal_graph: { effect_log: effects },
      request_substance: { cost: { total_tokens: 12 } },
    }
    expect(closings()).toEqual([{ outcome: "failed", code: "EXECUTOR_FAILED", ...declared }])
  })
})

describe("an act that does not end", () => {
  const endless = ({ signal }: ActivePermit): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
  const deaf = (): Promise<never> => new Promise(() => undefined)

  test.each([
    ["listens to its signal", endless],
    ["does not", deaf],
  ])("is closed as timed out, whether it %s", async (_, act) => {
    const failed = clientOf().permit(REQUEST, act, { actTimeoutMs: 20 })
    await expect(failed).rejects.toThrow(ActTimeoutError)
    expect(closings()).toEqual([{ outcome: "failed", code: "TIMED_OUT" }])
  })

  test("ends before its permit does", async () => {
    const failed = clientOf().permit({ ...REQUEST, valid_for_seconds: 1 }, deaf)
    await expect(failed).rejects.toMatchObject({ name: "ActTimeoutError", limitMs: expect.toSatisfy(ms => ms < 1000) })
    expect(closings()).toEqual([{ outcome: "failed", code: "TIMED_OUT" }])
  })

  test("is closed when the caller aborts", async () => {
    const stop = new AbortController()
    const failed = clientOf().permit(
      REQUEST,
      permit => {
        stop.abort("enough")
        return endless(permit)
      },
      { signal: stop.signal },
    )
    await expect(failed).rejects.toThrow(AbortedError)
    expect(closings()).toEqual([{ outcome: "failed", code: "TIMED_OUT" }])
  })

  test("was not executed when its permit came too late", async () => {
    let now = Date.now()
    const slow = clientOf({
      now: () => now,
      fetch: async (url, init) => {
        const answer = await fetch(url, init)
        if (url.endsWith("/permits")) now += 300_000
        return answer
      },
    })
    await expect(slow.permit(REQUEST, paid)).rejects.toThrow(ActTimeoutError)
    expect(closings()).toEqual([{ outcome: "failed", code: "NOT_EXECUTED" }])
  })
})

describe("a close", () => {
  test("that is refused gives the receipt, and not the output", async () => {
    const refused = clientOf().permit(REQUEST, async () => ({ output: "aivp_t4_halt" }))
    await expect(refused).rejects.toThrow(OutputRefusedError)
    await expect(refused).rejects.toMatchObject({
      permitId: expect.stringMatching(/^pmt-/),
      result: { outcome_kind: "aivp_t4_halt", aivp_t4_halt_receipt: {} },
    })
  })

  test("that cannot be made gives the permit's id, and not the output", async () => {
    const failed = clientOf().permit(REQUEST, async () => {
      const answer = { ok: false, error: "The permit is closed or ended.", code: "permit_not_open" }
      service.faults.push(response => response.writeHead(409).end(JSON.stringify(answer)))
      return { output: "paid" }
    })
    await expect(failed).rejects.toThrow(PermitNotClosedError)
    await expect(failed).rejects.toMatchObject({
      permitId: expect.stringMatching(/^pmt-/),
      cause: expect.any(ConflictError),
    })
  })

  test("is made although the clock of this machine is set ahead during the act", async () => {
    const { run } = await clientOf().permit(REQUEST, async () => {
      const now = Date.now
      vi.spyOn(Date, "now").mockImplementation(() => now() + 3_600_000)
      return { output: "paid" }
    })
    vi.restoreAllMocks()
    expect(run.ok).toBe(true)
  })

  test("is repeated when its answer was lost, also after the caller aborted", async () => {
    const stop = new AbortController()
    const { run } = await clientOf().permit(
      REQUEST,
      async () => {
        service.faults.push(response => response.destroy())
        return { output: "paid" }
      },
      { signal: stop.signal },
    )
    expect(run.outcome_kind).toBe("ok")
    expect(closings()).toHaveLength(2)
  })
})

test("a guarded function is permitted at each call, and gives its output", async () => {
  const pay = clientOf().guard(
    async (amount: number, { permit }) => ({
      output: `${amount} under ${permit.length > 100}`,
      cost: { total_tokens: amount },
    }),
    { request: amount => ({ ...REQUEST, payload: `${amount}` }) },
  )
  expect([await pay(1), await pay(2)]).toEqual(["1 under true", "2 under true"])
  const payloads = service.asked
    .filter(({ path }) => path === "/permits")
    .map(({ body }) => Object(parseStrictJson(body)).payload)
  expect(payloads).toEqual(["1", "2"])
  const guarded = clientOf().guard(paid, { request: () => ({ ...REQUEST, payload: "ccv_halt" }) })
  await expect(guarded(undefined)).rejects.toThrow(PermitRefusedError)
})
