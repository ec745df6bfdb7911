/** docs/api.md, "Sessions": a cookie in place of the key, for people in a browser. */
import { beforeAll, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { type Answer, expectRefused, readAnswer, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { dumpTables } from "../harness/spellings.ts"
import { standingService } from "../harness/test-service.ts"

const MINUTE_MS = 60_000

type SignedIn = { readonly cookie: string; readonly csrf: string; readonly answer: Answer }

eachDatabase("sessions", open => {
  const service = standingService(() => ({ open }))
  let admin: Holder
  let customer: Holder

  const post = async (body: object, headers: Record<string, string> = {}): Promise<Answer> =>
    readAnswer(
      await service().request("/session", {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    )
  const signIn = async (key: string, headers: Record<string, string> = {}): Promise<SignedIn> => {
    // The limit of an address is 20 a minute, and this suite has one address.
    service().clock.advance(MINUTE_MS)
    const answer = await post({ key }, headers)
    expect(answer.status, answer.text).toBe(201)
    const [cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";")
    return { cookie, csrf: textAt(answer.body, "csrf_token"), answer }
  }
  const send = async (
    { cookie, csrf }: Pick<SignedIn, "cookie" | "csrf">,
    method: string,
    path: string,
    body?: object,
  ): Promise<Answer> => {
    const headers = {
      Cookie: cookie,
      "Content-Type": "application/json",
      ...(csrf === "" ? {} : { "X-CSRF-Token": csrf }),
    }
    return readAnswer(
      await service().request(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
    )
  }

  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    customer = await mint(service(), CUSTOMER, admin)
  })

  test("go on behind a proxy that ends TLS and says nothing: a page has no Origin", async () => {
    const session = await signIn(customer.secret ?? "", { Origin: "https://runseal.example" })
    expect(session.cookie).toMatch(/^__Host-/)
    expect((await send({ ...session, csrf: "" }, "GET", "/session")).body).toMatchObject({ key_id: customer.id })
  })

  test("open with a key, and see what the key sees", async () => {
    await customer.execute(request())
    const session = await signIn(customer.secret ?? "")
    expect(session.answer.body).toMatchObject({
      ok: true,
      key_id: customer.id,
      name: "customer:acme",
      scope: "customer",
    })
    expect((await send(session, "GET", "/runs")).body).toEqual((await customer.get("/runs")).body)
    expect((await send(session, "GET", "/session")).body).toMatchObject({
      key_id: customer.id,
      csrf_token: session.csrf,
    })
    expectRefused(await send(session, "GET", "/admin/keys"), 403)
  })

  test("a wrong key opens none, and says no more than anywhere else", async () => {
    for (const key of [`rsk_${"0".repeat(48)}`, "x"]) {
      const answer = await post({ key })
      expectRefused(answer, 401)
      expect(answer.headers.get("set-cookie")).toBeNull()
    }
    expectRefused(await post({}), 400)
    expectRefused(await post({ key: admin.secret, more: 1 }), 400)
  })

  test("over https the cookie is __Host-, Secure, HttpOnly and Lax; over plain HTTP of this machine it has another name", async () => {
    const plain = (await signIn(admin.secret ?? "")).answer.headers.get("set-cookie")
    expect(plain).toMatch(/^runseal-session=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax$/)
    const secure = (await signIn(admin.secret ?? "", { Origin: "https://attest.example" })).answer.headers.get(
      "set-cookie",
    )
    expect(secure).toMatch(/^__Host-runseal-session=[0-9a-f]{64}; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
    const away = await service().request("http://10.1.2.3/session", {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: "http://10.1.2.3" },
      body: JSON.stringify({ key: admin.secret }),
    })
    expectRefused(await readAnswer(away), 403)
  })

  test("what changes something needs the CSRF token of the session", async () => {
    const session = await signIn(admin.secret ?? "")
    const other = await signIn(admin.secret ?? "")
    for (const csrf of ["", "0".repeat(64), other.csrf]) {
      const refused = await send({ cookie: session.cookie, csrf }, "POST", "/admin/keys", CUSTOMER)
      expectRefused(refused, 403)
      expect(refused.body).toMatchObject({ code: "csrf_token_required" })
      expectRefused(await send({ cookie: session.cookie, csrf }, "DELETE", "/session"), 403)
      expectRefused(await send({ cookie: session.cookie, csrf }, "POST", "/execute", request()), 403)
    }
    expect((await send(session, "POST", "/admin/keys", CUSTOMER)).status).toBe(201)
  })

  test("end when they are closed, replaced by another in the same browser, or not used for half an hour", async () => {
    const closed = await signIn(admin.secret ?? "")
    const goodbye = await send(closed, "DELETE", "/session")
    expect(goodbye.headers.get("set-cookie")).toMatch(/^runseal-session=; Max-Age=0/)
    expectRefused(await send(closed, "GET", "/session"), 401)
    const replaced = await signIn(admin.secret ?? "")
    await signIn(customer.secret ?? "", { Cookie: replaced.cookie })
    expectRefused(await send(replaced, "GET", "/session"), 401)
    const idle = await signIn(admin.secret ?? "")
    service().clock.advance(29 * MINUTE_MS)
    expect((await send(idle, "GET", "/session")).status).toBe(200)
    service().clock.advance(29 * MINUTE_MS)
    expect((await send(idle, "GET", "/session")).status).toBe(200)
    service().clock.advance(30 * MINUTE_MS)
    expectRefused(await send(idle, "GET", "/session"), 401)
  })

  test("end though a page asks with X-Unattended: that is no use of them", async () => {
    const session = await signIn(admin.secret ?? "")
    const unattended = { headers: { Cookie: session.cookie, "X-Unattended": "1" } }
    for (const minutes of [10, 19]) {
      service().clock.advance(minutes * MINUTE_MS)
      expect((await readAnswer(await service().request("/attention", unattended))).status).toBe(200)
    }
    service().clock.advance(MINUTE_MS)
    expectRefused(await send(session, "GET", "/session"), 401)
  })

  test("end after twelve hours, however much they are used", async () => {
    const session = await signIn(admin.secret ?? "")
    for (let minutes = 0; minutes < 12 * 60 - 20; minutes += 20) {
      service().clock.advance(20 * MINUTE_MS)
      expect((await send(session, "GET", "/session")).status).toBe(200)
    }
    service().clock.advance(20 * MINUTE_MS)
    expectRefused(await send(session, "GET", "/session"), 401)
  })

  test("end at once with their key", async () => {
    const short = await mint(service(), CUSTOMER, admin)
    const session = await signIn(short.secret ?? "")
    expect((await send(session, "GET", "/runs")).status).toBe(200)
    await admin.send("DELETE", `/admin/keys/${short.id}`)
    expectRefused(await send(session, "GET", "/runs"), 401)
    expectRefused(await send(session, "GET", "/session"), 401)
  })

  test("one key has 16 of them; one more ends the oldest", async () => {
    const key = await mint(service(), CUSTOMER, admin)
    const sessions: SignedIn[] = []
    for (let i = 0; i < 17; i++) sessions.push(await signIn(key.secret ?? ""))
    const statuses = await Promise.all(sessions.map(async one => (await send(one, "GET", "/session")).status))
    expect(statuses).toEqual([401, ...Array(16).fill(200)])
  })

  test("an address may try 20 times a minute", async () => {
    service().clock.advance(MINUTE_MS)
    for (let i = 0; i < 20; i++) expectRefused(await post({ key: "x" }), 401)
    const refused = await post({ key: "x" })
    expectRefused(refused, 429)
    expect(refused.headers.get("ratelimit-policy")).toBe('"sessions";q=20;w=60')
  })

  test("a token is in no table", async () => {
    const { cookie } = await signIn(admin.secret ?? "")
    const [, token = "?"] = cookie.split("=")
    expect(token).toHaveLength(64)
    expect(await dumpTables(service().db, 13)).not.toContain(token)
  })
})
