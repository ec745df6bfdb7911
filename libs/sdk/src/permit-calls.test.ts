/** Permits call by call. docs/api.md, "Permits". */
import { canonicalize } from "@runseal/canonical"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { API_KEY, executeAnswer, type Service, startService } from "../test/scripted-service.ts"
import {
  type Client,
  ConflictError,
  createClient,
  InvalidArgumentError,
  NotFoundError,
  type OpenedPermit,
  OUTCOME_KINDS,
  type PermitClosing,
  type PermitRequest,
  ProtocolError,
  verifyPermit,
} from "./index.ts"

let service: Service
let client: Client
beforeAll(async () => {
  service = await startService()
  client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY, random: () => 0 })
})
afterAll(() => service.stop())
beforeEach(() => void service.asked.splice(0))

const request = (payload = "pay 120.00 to DE02") => ({
  program_id: "a".repeat(64),
  route_id: "payments/transfer",
  registry_record_hash: "b".repeat(64),
  payload,
  audience: "payments",
  reserve_tokens: 100,
})
const opened = async (): Promise<OpenedPermit & { readonly permit: string }> => {
  const result = await client.permits.open(request())
  if (result.outcome_kind !== "opened" || result.permit === undefined) throw new Error("not opened")
  return { ...result, permit: result.permit }
}

describe("open", () => {
  test("sends the request as JSON under the key, and gives a permit that verifies", async () => {
    const { permit, permit_id, opening } = await opened()
    expect(service.asked).toMatchObject([{ method: "POST", path: "/permits", body: canonicalize(request()) }])
    expect(service.asked[0]?.headers["x-service-key"]).toBe(API_KEY)
    const { program_id, route_id } = opening.sections.envelope
    const verdict = await verifyPermit(permit, {
      payload_hash: opening.sections.payload.payload_hash,
      audience: "payments",
      program_id,
      route_id,
      issuer: service.deployment.log.origin,
      trust: JSON.stringify(service.deployment.trustDocument),
      now: new Date(opening.sections.envelope.admission_clock),
    })
    expect(verdict).toMatchObject({ ok: true, claims: { jti: permit_id, sub: "api-key-2" } })
  })

  test.each(OUTCOME_KINDS.filter(kind => kind !== "ok"))("gives the refusal %s as a value", async kind => {
    const sealed = service.runs.find(({ bundle }) => bundle.run.outcome_kind === kind)!.bundle
    const answer = executeAnswer(sealed)
    expect(await client.permits.open(request(kind))).toEqual({ outcome_kind: kind, ...(answer.body as object) })
  })

  test("a finished run is no answer to it", async () => {
    await expect(client.permits.open(request("ok"))).rejects.toThrow(ProtocolError)
  })

  test("is retried under an idempotency key alone", async () => {
    const fail = (): number => service.faults.push(response => response.writeHead(503).end("{}"))
    fail()
    await expect(client.permits.open(request())).rejects.toThrow("The service answered with status 503.")
    fail()
    await client.permits.open(request(), { idempotencyKey: "k" })
    expect(service.asked.map(({ headers }) => headers["idempotency-key"])).toEqual([undefined, '"k"', '"k"'])
  })
})

describe("close", () => {
  test("gives every outcome as a value, under the permit's id as idempotency key", async () => {
    for (const kind of OUTCOME_KINDS) {
      const { permit_id } = await opened()
      const closing = { outcome: "completed", ai_output_text: kind } as const
      const sealed = service.runs.find(({ bundle }) => bundle.run.outcome_kind === kind)!.bundle
      const expected = { outcome_kind: kind, ...(executeAnswer(sealed).body as object) }
      expect(await client.permits.close(permit_id, closing)).toEqual(expected)
      expect(service.asked.at(-1)).toMatchObject({ path: `/permits/${permit_id}/close`, body: canonicalize(closing) })
      expect(service.asked.at(-1)?.headers["idempotency-key"]).toBe(`"${permit_id}"`)
    }
  })

  test("a permit that is not open", async () => {
    const { permit_id } = await opened()
    await client.permits.close(permit_id, { outcome: "failed", code: "NOT_EXECUTED" })
    const again = client.permits.close(permit_id, { outcome: "completed" })
    await expect(again).rejects.toThrow(ConflictError)
    await expect(again).rejects.toMatchObject({ code: "permit_not_open" })
  })

  test("an unknown permit", async () => {
    const close = client.permits.close(`pmt-${"0".repeat(32)}`, { outcome: "completed" })
    await expect(close).rejects.toThrow(NotFoundError)
  })
})

describe("redeem", () => {
  test("succeeds once, without the key", async () => {
    const { permit, permit_id } = await opened()
    expect(await client.permits.redeem(permit_id, permit)).toMatchObject({ ok: true, permit_id })
    expect(service.asked.at(-1)?.headers).not.toHaveProperty("x-service-key")
    await expect(client.permits.redeem(permit_id, permit)).rejects.toMatchObject({ code: "already_redeemed" })
  })

  test("is not retried", async () => {
    const { permit, permit_id } = await opened()
    service.faults.push(response => response.writeHead(503).end("{}"))
    await expect(client.permits.redeem(permit_id, permit)).rejects.toMatchObject({ status: 503 })
  })
})

describe("closes without an answer", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test("are sent again one after the other, also those that come meanwhile", async () => {
    const asked: string[] = []
    const busy = (url: string): Response => {
      asked.push(url.slice(-7, -6))
      return Response.json({ ok: false, error: "Busy.", code: "unavailable" }, { status: 503 })
    }
    let answer: (url: string) => Response | Promise<Response> = busy
    const away = createClient({
      baseUrl: "http://service.test",
      retries: 0,
      fetch: async url => await answer(`${url}`),
    })
    const close = async (digit: string): Promise<void> => {
      const closed = away.permits.close(`pmt-${digit.repeat(32)}`, { outcome: "completed" }, { resend: true })
      await expect(closed).rejects.toThrow("Busy.")
    }
    await close("1")
    // The service takes the request, and does not answer.
    answer = async url => await new Promise(() => asked.push(url.slice(-7, -6)))
    await vi.advanceTimersByTimeAsync(5_000)
    answer = busy
    await close("2")
    await vi.advanceTimersByTimeAsync(6_000)
    expect(asked).toEqual(["1", "1", "2"])
    // The request without an answer is given up. The next round sends both, and a close that is answered is not sent again.
    answer = url => {
      asked.push(url.slice(-7, -6))
      return Response.json({ ok: false, error: "Not found.", code: "not_found" }, { status: 404 })
    }
    await vi.advanceTimersByTimeAsync(60_000)
    expect(asked.slice(3)).toEqual(["1", "2"])
  })
})

test("get gives a permit with its opening, and list the permits in a state, newest first", async () => {
  const [first, second] = [await opened(), await opened()]
  await client.permits.close(first.permit_id, { outcome: "completed" })
  expect(await client.permits.get(first.permit_id)).toMatchObject({ state: "closed", opening: first.opening })
  const ids = async (state?: "open" | "closed"): Promise<string[]> => {
    const found: string[] = []
    for await (const { permit_id } of client.permits.list({ state, pageSize: 1 })) found.push(permit_id)
    return found
  }
  expect((await ids("open"))[0]).toBe(second.permit_id)
  expect((await ids("closed"))[0]).toBe(first.permit_id)
  expect((await ids()).slice(0, 2)).toEqual([second.permit_id, first.permit_id])
})

test.each(["", "1", "pmt-1", `pmt-${"A".repeat(32)}`, "../runs"])(
  "%s is no permit's id, and nothing is sent",
  async id => {
    const { permits } = client
    for (const call of [permits.get, (one: string) => permits.redeem(one, "p")])
      await expect(call(id)).rejects.toThrow(InvalidArgumentError)
    await expect(permits.close(id, { outcome: "completed" })).rejects.toThrow(InvalidArgumentError)
    expect(service.asked).toEqual([])
  },
)

test("an unknown state is refused at once", () => {
  expect(() => client.permits.list({ state: "lost" as never })).toThrow(InvalidArgumentError)
})

/** Each line is checked by `npm run check`: another answer of the compiler is a type error. */
type IsRequest<T> = T extends PermitRequest ? true : false
type IsClosing<T> = T extends PermitClosing ? true : false
type Request = ReturnType<typeof request>
const COMPILES: {
  readonly "what is known before the act": IsRequest<
    Request & { request_substance: { prompt: { hash: string }; tool: { name: string } } }
  >
  readonly "an act that failed": IsClosing<{ outcome: "failed"; code: "TIMED_OUT" }>
  readonly "a cost": IsClosing<{ outcome: "completed"; request_substance: { cost: { total_tokens: number } } }>
} = { "what is known before the act": true, "an act that failed": true, "a cost": true }
const DOES_NOT_COMPILE: {
  readonly "a cost before the act": IsRequest<Request & { request_substance: { cost: { total_tokens: number } } }>
  readonly "an output before the act": IsRequest<Request & { ai_output_text: string }>
  readonly "no audience": IsRequest<Omit<Request, "audience">>
  readonly "a failure without its code": IsClosing<{ outcome: "failed" }>
  readonly "a code of a success": IsClosing<{ outcome: "completed"; code: "TIMED_OUT" }>
} = {
  "a cost before the act": false,
  "an output before the act": false,
  "no audience": false,
  "a failure without its code": false,
  "a code of a success": false,
}

test("the compiler accepts before the act what is known then, and after it the rest", () => {
  expect(Object.values(COMPILES)).not.toContain(false)
  expect(Object.values(DOES_NOT_COMPILE)).not.toContain(true)
})
