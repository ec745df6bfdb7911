/** docs/executors.md, docs/sdk.md "Act under a permit": client, service and the payment service of examples/payment-executor together. */
import { readFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { sha256Hex, utf8Encode } from "@runseal/canonical"
import { paymentService } from "@runseal/payment-executor/payment-service"
import { remoteKeys } from "@runseal/permit"
import type { PermitOptions } from "@runseal/permit/hono"
import {
  ActFailedError,
  type ActivePermit,
  type Client,
  createClient,
  isUnreadable,
  OutputRefusedError,
  PERMIT_HEADER,
  PermitNotClosedError,
  PermitRefusedError,
  type PermitRequest,
  VERDICTS,
  verifyBundle,
  verifyPermit,
} from "@runseal/sdk"
import { decodeJwt } from "jose"
import { beforeEach, describe, expect, test } from "vitest"
import { standingService } from "./harness/test-service.ts"

let moved = 0
/** Who acts has the clock of this machine. */
const clock = {
  nowMs: () => Date.now() + moved,
  advance: (milliseconds: number) => {
    moved += milliseconds
  },
}
const service = standingService(() => ({ clock }))
const BASE = "http://runseal.test"
const send = (url: string, init?: RequestInit): Promise<Response> => service().request(url.slice(BASE.length), init)

const ORDER = '{"amount":"120.00","to":"DE02120300000000202051"}'
const REQUEST = {
  program_id: sha256Hex(utf8Encode("treasury agent")),
  route_id: "payments/transfer",
  registry_record_hash: "b".repeat(64),
  payload: ORDER,
  audience: "payments",
  reserve_tokens: 2000,
} satisfies PermitRequest

let client: Client
let accepts: PermitOptions
let payments: ReturnType<typeof paymentService>
beforeEach(async () => {
  client = createClient({ baseUrl: BASE, fetch: send })
  const { issuer } = { issuer: (await client.version()).log_origin }
  accepts = {
    audience: "payments",
    route_id: REQUEST.route_id,
    program_id: REQUEST.program_id,
    tenant_id: "anonymous",
    issuer,
    keys: remoteKeys(`${BASE}/.well-known/jwks.json`, send),
    leeway_seconds: 0,
  }
  payments = paymentService({ ...accepts, redeem: BASE, fetch: send })
})

/** Sends an order to the payment service; gives status and code or transfer. */
const pay = async (permit: string, order = ORDER, to = payments) => {
  const headers = { "content-type": "application/json", [PERMIT_HEADER]: permit }
  const answer = await to.request("/transfers", { method: "POST", headers, body: order })
  return { status: answer.status, ...Object(await answer.json()) }
}
const paid = async (active: ActivePermit) => {
  const { status, ...transfer } = await pay(active.permit)
  if (status !== 201) throw new ActFailedError("EXECUTOR_REFUSED", transfer.error)
  return { output: `${transfer.amount} transferred`, effects: [{ effect_kind: "funds_transfer" }], tokens: 1200 }
}
const opened = async (change: Partial<PermitRequest> = {}): Promise<{ permit: string; permit_id: string }> => {
  const result = await client.permits.open({ ...REQUEST, ...change } as PermitRequest)
  if (result.outcome_kind !== "opened" || result.permit === undefined) throw new Error("not opened")
  return { permit: result.permit, permit_id: result.permit_id }
}
const closed = (permit_id: string) => client.permits.close(permit_id, { outcome: "failed", code: "NOT_EXECUTED" })

test("an act is permitted, done once, and sealed with what became of it", async () => {
  let used = ""
  const { output, run, permit_id } = await client.permit(REQUEST, active => {
    used = active.permit
    return paid(active)
  })
  expect(output).toBe("120.00 transferred")
  expect(await (await payments.request("/transfers")).json()).toMatchObject({ transfers: [{ permit_id }] })
  const { text, document } = await client.bundle(run.run_id)
  const trust = (await client.trust()).text
  const report = verifyBundle(text, [trust])
  expect(isUnreadable(report) ? report : report.verdict).toBe(VERDICTS.complete)
  expect(document).toMatchObject({ sections: { permit: { permit_id, outcome: "completed" } } })
  const record = await client.permits.get(permit_id)
  expect(record).toMatchObject({ state: "closed", run_id: run.run_id, redeemed_at: expect.any(String) })
  const opening = JSON.stringify(record.opening)
  expect(verifyBundle(opening, [trust])).toMatchObject({ verdict: VERDICTS.opening })
  const { keys: _, ...expected } = accepts
  const verdict = await verifyPermit(used, { ...expected, payload: ORDER, trust, opening, redeems: true })
  expect(verdict).toMatchObject({ ok: true, claims: { jti: permit_id } })
  // Used once: the permit is valid and redeemed.
  expect(await pay(used)).toMatchObject({
    status: 403,
    code: expect.stringMatching(/^(already_redeemed|redeem_refused)$/),
  })
})

describe("the payment service refuses", () => {
  test("a permit that was used", async () => {
    const { permit, permit_id } = await opened()
    expect(await pay(permit)).toMatchObject({ status: 201, permit_id })
    expect(await pay(permit)).toMatchObject({ status: 403, code: "already_redeemed" })
    await closed(permit_id)
  })

  test("another order, to the byte, and uses nothing up", async () => {
    const { permit, permit_id } = await opened()
    expect(await pay(permit, `${ORDER} `)).toMatchObject({ status: 403, code: "wrong_payload" })
    expect(await pay(permit)).toMatchObject({ status: 201 })
    await closed(permit_id)
  })

  test.each<[string, Partial<PermitRequest>]>([
    ["wrong_route", { route_id: "payments/refund" }],
    ["wrong_program", { program_id: "c".repeat(64) }],
    ["wrong_audience", { audience: "refunds" }],
  ])("%s", async (code, change) => {
    const { permit, permit_id } = await opened(change)
    expect(await pay(permit)).toMatchObject({ status: 403, code })
    await closed(permit_id)
  })

  test("a permit that must be redeemed, where nobody redeems", async () => {
    const { permit, permit_id } = await opened({ redeem_required: true })
    expect(await pay(permit, ORDER, paymentService(accepts))).toMatchObject({ status: 403, code: "redeem_required" })
    expect(await pay(permit)).toMatchObject({ status: 201 })
    await closed(permit_id)
  })

  test("a permit that has expired", async () => {
    const { permit, permit_id } = await opened({ valid_for_seconds: 5 })
    await setTimeout(1000 * (decodeJwt(permit).exp ?? 0) + 100 - Date.now())
    expect(await pay(permit)).toMatchObject({ status: 401, code: "expired" })
    await closed(permit_id)
  })

  test("a permit whose run is closed", async () => {
    const { permit, permit_id } = await opened()
    await closed(permit_id)
    expect(await pay(permit)).toMatchObject({ status: 403, code: "redeem_refused" })
  })
})

describe("the client", () => {
  const example = JSON.parse(
    readFileSync(new URL("../../../examples/support-mail-poisoned.json", import.meta.url), "utf8"),
  )
  const leak = JSON.parse(
    readFileSync(new URL("../../../examples/operations-answer-leaks-key.json", import.meta.url), "utf8"),
  )

  test("does not act when the policy denies it", async () => {
    let began = false
    const refused = client.permit({ ...REQUEST, payload: example.payload ?? example.payload_text }, async active => {
      began = true
      return paid(active)
    })
    await expect(refused).rejects.toThrow(PermitRefusedError)
    await expect(refused).rejects.toMatchObject({
      result: { outcome_kind: "pepg_deny", deny_receipt: expect.any(Object) },
    })
    expect(began).toBe(false)
  })

  test("does not act when the reservation is more than one run may use", async () => {
    const refused = client.permit({ ...REQUEST, reserve_tokens: 1_000_001 }, paid)
    await expect(refused).rejects.toMatchObject({ name: "PermitRefusedError", result: { outcome_kind: "ccv_halt" } })
  })

  test("does not give back an output that the review refuses", async () => {
    const refused = client.permit(REQUEST, async () => ({ output: leak.ai_output_text as string, tokens: 10 }))
    await expect(refused).rejects.toThrow(OutputRefusedError)
    await expect(refused).rejects.toMatchObject({ result: { outcome_kind: "aivp_t4_halt" } })
    const [newest] = (await client.permits.list({ pageSize: 1 }).pages()[Symbol.asyncIterator]().next()).value.permits
    expect(newest).toMatchObject({ state: "closed", run_id: expect.any(Number) })
  })

  test("closes an act that failed, and the run says so", async () => {
    const failed = client.permit(REQUEST, async () => {
      throw new Error("the bank is down")
    })
    await expect(failed).rejects.toThrow("the bank is down")
    for await (const { permit_id, run_id = 0 } of client.permits.list({ state: "closed" })) {
      const { document } = await client.bundle(run_id)
      expect(document).toMatchObject({
        sections: { permit: { permit_id, outcome: "failed", code: "EXECUTOR_FAILED" } },
      })
      break
    }
  })

  test("is not fooled by a close that comes too late", async () => {
    const late = client.permit(REQUEST, async () => {
      clock.advance(601_000)
      return { output: "paid" }
    })
    await expect(late).rejects.toThrow(PermitNotClosedError)
    await expect(late).rejects.toMatchObject({ cause: { status: 409, code: "permit_not_open" } })
  })
})
