/** The middleware of Hono in the payment service of examples/payment-executor, against permits of all kinds. */

import { paymentService } from "@runseal/payment-executor/payment-service"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { PermitFacts } from "../src/index.ts"
import type { PermitOptions } from "../src/permitted-request.ts"
import { ACT, newKey, PAYLOAD, permitNow } from "./signed-permits.ts"

const key = newKey("current")
const ACCEPTS = { ...ACT, tenant_id: "api-key-7", keys: { keys: [key.jwk] } } satisfies PermitOptions

let service: ReturnType<typeof paymentService>
beforeEach(() => {
  service = paymentService(ACCEPTS)
})
const send = async (permit: string | undefined, body = PAYLOAD, to = service) => {
  const headers = { "content-type": "application/json", ...(permit && { "Runseal-Permit": permit }) }
  const answer = await to.request("/transfers", { method: "POST", headers, body })
  return { status: answer.status, ...Object(await answer.json()) }
}
const transfers = async (from = service): Promise<unknown> => (await from.request("/transfers")).json()

test("a permitted order is carried out, and the handler reads the body again", async () => {
  expect(await send(await permitNow(key))).toEqual({
    status: 201,
    ok: true,
    amount: "120.00",
    to: "DE02",
    permit_id: `pmt-${"0".repeat(32)}`,
  })
  expect(await transfers()).toMatchObject({ transfers: [{ amount: "120.00" }] })
})

describe("nothing is carried out", () => {
  afterEach(async () => expect(await transfers()).toEqual({ ok: true, transfers: [] }))

  test("without a permit", async () => {
    const answer = { status: 401, ok: false, error: "The act needs a permit.", code: "missing" }
    expect(await send(undefined)).toEqual(answer)
  })

  test("with another order, to the byte", async () => {
    const permit = await permitNow(key)
    expect(await send(permit, `${PAYLOAD}\n`)).toMatchObject({ status: 403, code: "wrong_payload" })
    expect(await send(permit, PAYLOAD.replace("120.00", "920.00"))).toMatchObject({ status: 403 })
  })

  test.each<[string, number, Partial<PermitFacts>]>([
    ["wrong_route", 403, { route_id: "payments/refund" }],
    ["wrong_program", 403, { program_id: "d".repeat(64) }],
    ["wrong_audience", 403, { audience: "refunds" }],
    ["wrong_tenant", 403, { tenant_id: "api-key-8" }],
    ["observed", 403, { enforcement: "observe" }],
    ["redeem_required", 403, { redeem_required: true }],
    ["wrong_issuer", 401, { issuer: "runseal.local - 2" }],
    ["expired", 401, { admission_clock: "2026-01-15T09:30:00.000Z" }],
  ])("%s", async (code, status, change) => {
    expect(await send(await permitNow(key, change))).toEqual({ status, ok: false, error: expect.any(String), code })
  })

  test("with a permit of an unknown key", async () => {
    expect(await send(await permitNow(newKey("another")))).toMatchObject({ status: 401, code: "unknown_key" })
    expect(await send(await permitNow(newKey("current")))).toMatchObject({ status: 401, code: "bad_signature" })
  })

  test("while the keys cannot be read", async () => {
    const find = async () => "keys_unavailable" as const
    const blind = paymentService({ ...ACCEPTS, keys: { find } })
    expect(await send(await permitNow(key), PAYLOAD, blind)).toMatchObject({ status: 503, code: "keys_unavailable" })
  })
})

describe("with redemption", () => {
  let asked: { readonly url: string; readonly init: RequestInit }[]
  const redeeming = (answer: () => Response | Promise<Response>) => {
    asked = []
    return paymentService({
      ...ACCEPTS,
      redeem: "https://runseal.example/",
      fetch: (url, init) => {
        asked.push({ url, init })
        return answer()
      },
    })
  }

  test("the permit is redeemed before the act, as its own credential", async () => {
    const permit = await permitNow(key, { redeem_required: true })
    const once = redeeming(() => Response.json({ ok: true }))
    expect(await send(permit, PAYLOAD, once)).toMatchObject({ status: 201 })
    expect(asked.map(({ url }) => url)).toEqual([`https://runseal.example/permits/pmt-${"0".repeat(32)}/redeem`])
    expect(asked[0]?.init).toMatchObject({ method: "POST", body: JSON.stringify({ permit }), redirect: "manual" })
  })

  test("a permit that is refused is not redeemed", async () => {
    const once = redeeming(() => Response.json({ ok: true }))
    expect(await send(await permitNow(key), "{}", once)).toMatchObject({ code: "wrong_payload" })
    expect(asked).toEqual([])
  })

  const refusal = (status: number, code: string) => () => Response.json({ ok: false, code }, { status })
  test.each<[string, number, () => Response | Promise<Response>]>([
    ["already_redeemed", 403, refusal(409, "already_redeemed")],
    ["redeem_refused", 403, refusal(409, "permit_not_open")],
    ["redeem_refused", 403, refusal(404, "not_found")],
    ["redeem_unavailable", 503, refusal(503, "unavailable")],
    ["redeem_unavailable", 503, () => new Response("<html>", { status: 409 })],
    ["redeem_unavailable", 503, () => Response.redirect("https://elsewhere.example/", 302)],
    ["redeem_unavailable", 503, () => Promise.reject(new TypeError("unreachable"))],
  ])("%s: nothing is carried out", async (code, status, answer) => {
    const once = redeeming(answer)
    expect(await send(await permitNow(key), PAYLOAD, once)).toMatchObject({ status, code })
    expect(asked).toHaveLength(1)
    expect(await transfers(once)).toEqual({ ok: true, transfers: [] })
  })
})

test("an order that is none is refused after its permit was accepted", async () => {
  const permit = await permitNow(key, {
    payload_hash: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
  })
  expect(await send(permit, "{}")).toMatchObject({
    status: 400,
    error: "amount, such as 120.00, and to are needed, both as text.",
  })
})
