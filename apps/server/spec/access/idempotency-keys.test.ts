/** Idempotency keys and who calls: a key is its caller's, and a replay costs a request and needs what any read of the run needs. */
import { beforeAll, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { expectReplayed, isReplay, newKey, sendKeyed } from "../harness/keyed.ts"
import { expectRefused } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const RATE_LIMIT = 6

eachDatabase("an idempotency key in locked mode", open => {
  const service = standingService(() => ({ open, config: { rateLimit: RATE_LIMIT } }))
  const execute = ({ secret }: Holder, key: string, payload = "p") =>
    sendKeyed(service(), "/execute", key, request({ payload }), secret)
  const open_key = newKey()
  let admin: Holder
  beforeAll(async () => {
    const answer = await sendKeyed(service(), "/execute", open_key, request({ payload: "p" }))
    expect(answer.status).toBe(200)
    admin = await mint(service(), ADMIN)
  })
  const customer = (): Promise<Holder> => mint(service(), CUSTOMER, admin)

  test("belongs to its caller: under another's the same key is another run", async () => {
    const [one, two] = [await customer(), await customer()]
    const key = newKey()
    const first = await execute(one, key)
    const second = await execute(two, key, "something else")
    expect([isReplay(first), isReplay(second), second.status]).toEqual([false, false, 200])
    expectReplayed(await execute(one, key), first)
    expectReplayed(await execute(two, key, "something else"), second)
    expect(isReplay(await execute(one, open_key)), "nor is it that of open mode").toBe(false)
    const path = "/attest"
    const body = { digest: "d1".repeat(32), algorithm: "sha256" }
    const attested = await sendKeyed(service(), path, key, body, one.secret)
    const other = await sendKeyed(service(), path, key, body, two.secret)
    expect(other.body.attestation_id).not.toBe(attested.body.attestation_id)
    expectReplayed(await sendKeyed(service(), path, key, body, one.secret), attested)
  })

  test("gives nothing to a caller without a valid key, and nothing any more once the key is revoked", async () => {
    const holder = await customer()
    const key = newKey()
    await execute(holder, key)
    expectRefused(await sendKeyed(service(), "/execute", key, request({ payload: "p" })), 401)
    await admin.send("DELETE", `/admin/keys/${holder.id}`)
    expectRefused(await execute(holder, key), 401)
  })

  test("costs a request each time, and no run of a trial key but the first", async () => {
    const trial = await mint(service(), { name: "trial", tier: "trial" }, admin)
    const key = newKey()
    const first = await execute(trial, key)
    for (let asked = 1; asked < RATE_LIMIT; asked++) expectReplayed(await execute(trial, key), first)
    const refused = await execute(trial, key)
    expect(expectRefused(refused, 429)).not.toContain("trial_quota")
    const admissions = await service().db.sql`select 1 from trial_admission where key_id = ${trial.id}`
    expect(admissions).toHaveLength(1)
  })
})
