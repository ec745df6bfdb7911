/**
 * docs/when-it-is-down.md, "Failover": a database that is put back under a running service, as when a standby that lagged takes over,
 * is not sealed on.
 */
import { canonicalize } from "@runseal/canonical"
import { loadPolicy } from "@runseal/policy/load-policy"
import { beforeAll, expect, test } from "vitest"
import { READINESS_CACHE_MS } from "../src/sealing/readiness.ts"
import { OPERATOR_COMMAND } from "../src/store/tables/admin-events.ts"
import { addPolicy } from "../src/store/tables/policy-versions.ts"
import { bothDatabases } from "./database/databases.ts"
import { keep, putBack, WITH_KEYS, WITH_PERMITS } from "./database/put-back.ts"
import { done, opened } from "./harness/asked-permits.ts"
import { ADMIN, type Holder, mint } from "./harness/key-holders.ts"
import { expectRefused, readAnswer, textAt } from "./harness/read-answer.ts"
import { request, spending } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"
import { until } from "./harness/until.ts"

bothDatabases("a database that is put back under a running service", open => {
  const service = standingService(() => ({ open }))

  test("takes no record, is not ready and says why, until it holds again what was acknowledged", async () => {
    const { db } = service()
    await service().execute(request())
    await keep(db, "older")
    await service().execute(request())
    await keep(db, "newest")

    await putBack(db, "older")
    const first = service().logLines.length
    for (let again = 0; again < 2; again++) expectRefused(await service().execute(request()), 503)
    expectRefused(await service().post("/attest", { digest: "5e".repeat(32), algorithm: "sha256" }), 503)
    service().clock.advance(READINESS_CACHE_MS)
    expect(expectRefused(await service().get("/ready"), 503)).toMatch(/older log than was acknowledged/)
    expect(service().logLines.slice(first).join()).toMatch(/sealing on it would fork the log/)

    await putBack(db, "newest")
    service().clock.advance(READINESS_CACHE_MS)
    expect((await service().get("/ready")).status).toBe(200)
    expect((await service().execute(request())).body.run_id).toBe(3)
  })
})

bothDatabases("a permit that was acknowledged, in a database that is put back", open => {
  const service = standingService(() => ({ open }))

  test("is not said to be none, and is closed once the database holds it again", async () => {
    const { db } = service()
    await service().execute(request())
    await keep(db, "before", WITH_PERMITS)
    const { permit_id, permit } = (await opened(service(), { redeem_required: true })).body
    await keep(db, "after", WITH_PERMITS)
    const close = () => service().post(`/permits/${permit_id}/close`, done())
    const redeem = () => service().post(`/permits/${permit_id}/redeem`, { permit: permit ?? null })

    await putBack(db, "before", WITH_PERMITS)
    expectRefused(await redeem(), 503)
    expectRefused(await close(), 503)
    expectRefused(await service().get(`/permits/${permit_id}`), 503)

    await putBack(db, "after", WITH_PERMITS)
    expect((await redeem()).status).toBe(200)
    expect((await close()).status).toBe(200)
    expectRefused(await service().get("/permits/pmt-00000000-0000-4000-8000-000000000000"), 404)
  })
})

bothDatabases("what was withdrawn, in a database that is put back", open => {
  const service = standingService(() => ({ open }))
  /** What a sign-in sends from a page of this service. */
  const signIn = (key: string | undefined, headers: Record<string, string> = {}) =>
    service().request("/session", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Forwarded-Proto": "https", ...headers },
      body: JSON.stringify({ key: key ?? "" }),
    })

  test("is not there again: nobody is let in, and nothing published is shown; the log, its keys and the state of the service are", async () => {
    const { db } = service()
    const admin = await mint(service(), ADMIN)
    const leaver = await mint(service(), { ...ADMIN, name: "leaver" }, admin)
    const run = (await leaver.execute(request())).body
    const { url } = (await leaver.post(`/admin/runs/${run.run_id}/publish`)).body
    const published = new URL("./", `${url}`).pathname
    const share = (await admin.post(`/admin/runs/${run.run_id}/share`, {})).body
    const link = `${new URL(`${share.url}`).pathname}/bundle.json`
    expect((await service().get(link)).status).toBe(200)
    const opened = await signIn(leaver.secret)
    const session = { Cookie: `${opened.headers.get("set-cookie")}`.split(";")[0] ?? "" }
    const underSession = async () => readAnswer(await service().request("/session", { headers: session }))
    expect([
      opened.status,
      (await service().get(`${published}bundle.json`)).status,
      (await underSession()).status,
    ]).toEqual([201, 200, 200])
    await keep(db, "before", WITH_KEYS)
    expect((await admin.post(`/admin/runs/${run.run_id}/unpublish`)).status).toBe(200)
    expect((await admin.send("DELETE", `/admin/shares/${share.share_id}`)).status).toBe(200)
    expect((await admin.send("DELETE", `/admin/keys/${leaver.id}`)).status).toBe(200)
    await keep(db, "after", WITH_KEYS)

    await putBack(db, "before", WITH_KEYS)
    expectRefused(await service().get("/ready"), 503)
    const report = `/runs/${run.run_id}/report.pdf`
    for (const path of ["/runs", report, "/admin/keys", "/admin/audit"]) {
      expect(expectRefused(await leaver.get(path), 503), path).toMatch(/lacks what was acknowledged/)
      expectRefused(await admin.get(path), 503)
    }
    for (const path of ["", "bundle.json", "statement.intoto.json"].map(
      file => published.slice(0, file === "" ? -1 : undefined) + file,
    ))
      expectRefused(await service().get(path), 503)
    expectRefused(await service().get(link), 503)
    expectRefused(await readAnswer(await signIn(leaver.secret)), 503)
    expectRefused(await underSession(), 503)
    expectRefused(await admin.post("/admin/keys", { name: "new" }), 503)
    for (const path of ["/health", "/version", "/.well-known/runseal-trust.json", "/.well-known/jwks.json", "/verify"])
      expect((await service().get(path)).status, path).toBe(200)

    await putBack(db, "after", WITH_KEYS)
    expectRefused(await leaver.get("/runs"), 401)
    expectRefused(await underSession(), 401)
    expectRefused(await service().get(link), 404)
    expectRefused(await service().get(`${published}bundle.json`), 404)
    expect((await admin.get(report)).status).toBe(404)
    expect((await admin.get("/admin/keys")).body).toMatchObject({ keys: [{}, { revoked: true }] })
  })
})

/** Denies runs of more tokens. */
const limitedTo = (tokens: number) => ({
  policy_id: `at-most-${tokens}`,
  policy_name: "A limit",
  required_attested_fields: [],
  rules: [
    { id: "permit-all", effect: "allow" },
    { id: "deny-spending", effect: "deny", when: `context.declared.tokens > ${tokens}` },
  ],
})
const [FIRST, LOST, NEXT] = [limitedTo(50), limitedTo(10), limitedTo(30)]
const hashOf = (policy: typeof FIRST): string => loadPolicy(policy).policy_hash

bothDatabases("a policy that was acknowledged, and is lost with the database that has it", open => {
  const service = standingService(() => ({ open, policy: FIRST }))
  let admin: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    await keep(service().db, "first", ["policy_version"])
  })
  /** The hash of the policy that decided a run, which its receipt or token seals. */
  const decidedBy = async (tokens: number): Promise<string> => {
    const { status, body } = await admin.execute(spending(tokens))
    return textAt(body, status === 200 ? "allow_token" : "deny_receipt", "policy_hash")
  }
  const acknowledged = async (policy: typeof FIRST): Promise<void> => {
    expect(await admin.post("/admin/policies", { policy })).toMatchObject({ status: 201, body: { version: 2 } })
    expect(await decidedBy(1)).toBe(hashOf(policy))
  }
  const lose = (): Promise<void> => putBack(service().db, "first", ["policy_version"])

  test("is in force no more; each record names the policy that decided it", async () => {
    await acknowledged(LOST)
    await lose()
    await until("the policy of before is in force", async () => {
      const { status, body } = await admin.execute(spending(20))
      const hash = textAt(body, status === 200 ? "allow_token" : "deny_receipt", "policy_hash")
      expect(hash).toBe(hashOf(status === 200 ? FIRST : LOST))
      return status === 200
    })
    expect((await admin.get("/admin/policy")).body).toMatchObject({ policy_hash: hashOf(FIRST) })
  })

  test("gives way to another that has its number", async () => {
    await acknowledged(LOST)
    await lose()
    const { policy_id, policy_name, policy_hash } = loadPolicy(NEXT)
    const next = { policy_id, policy_name, policy_hash, source: "api" as const, document: canonicalize(NEXT) }
    await addPolicy(service().db, next, OPERATOR_COMMAND, service().clock.nowMs())
    await until("the other is in force", async () => (await decidedBy(1)) === hashOf(NEXT))
    await lose()
    await until("the first is in force", async () => (await decidedBy(1)) === hashOf(FIRST))
  })

  test("gives way at once to one that this service acknowledges", async () => {
    await acknowledged(LOST)
    await lose()
    await acknowledged(NEXT)
  })
})
