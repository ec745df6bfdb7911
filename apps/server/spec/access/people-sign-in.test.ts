/** docs/api.md, "Sessions": people sign in to the console with a real OpenID provider. */

import type { PersonRole } from "@runseal/core/wire/session-requests"
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { expectRefused, listAt, numberAt, objectAt, textAt } from "../harness/read-answer.ts"
import {
  CLIENT,
  CONSOLE_ORIGIN,
  type SignInBrowser,
  signInBrowser,
  signInConfig,
  standingProvider,
} from "../harness/sign-in-browser.ts"
import { dumpTables } from "../harness/spellings.ts"
import { openService, type Settings, standingService } from "../harness/test-service.ts"

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SESSION = "runseal-session"
const STARTED = "runseal-sign-in"

/** The groups of each person at the provider, as of now. */
const groups = new Map([
  ["grace", ["ops", "everybody"]],
  ["ada", ["compliance"]],
  ["alan", ["treasury"]],
  ["mallory", ["everybody"]],
])
const provider = standingProvider(account => groups.get(account) ?? [])

const ROLES = new Map<string, PersonRole>([
  ["ops", "admin"],
  ["compliance", "auditor"],
  ["treasury", "approver"],
])
const settings = (roles = ROLES): NonNullable<Settings["config"]> => signInConfig(provider().issuer, roles)

eachDatabase("people who sign in", open => {
  const service = standingService(() => ({ open, config: settings() }))
  let admin: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    await mint(service(), CUSTOMER, admin)
  })
  const browser = (headers: Readonly<Record<string, string>> = {}): SignInBrowser => {
    // The limit of an address is 20 steps a minute, and this suite has one address.
    service().clock.advance(MINUTE_MS)
    return signInBrowser(service, headers)
  }
  const signedIn = async (subject: string): Promise<SignInBrowser> => {
    const made = browser()
    const { status, url } = await made.signInAs(subject)
    expect([status, url.origin]).toEqual([200, CONSOLE_ORIGIN])
    return made
  }
  const sessionOf = async (one: SignInBrowser) => (await one.send("GET", "/session")).body

  test.each([
    ["grace", "admin", ["ops"]],
    ["ada", "auditor", ["compliance"]],
    ["alan", "approver", ["treasury"]],
  ] as const)("%s has the name, and as %s the groups that have a role", async (subject, scope, groupsWithRole) => {
    const session = await sessionOf(await signedIn(subject))
    const { issuer } = provider()
    expect(session).toMatchObject({
      ok: true,
      name: subject,
      scope,
      person: { issuer, subject, groups: groupsWithRole },
    })
    expect(session).not.toHaveProperty("key_id")
    const { signed_in_at } = objectAt(session, "person")
    expect(Date.parse(textAt(session, "ends_at")) - Date.parse(`${signed_in_at}`)).toBe(8 * HOUR_MS)
  })

  test("the page that signs in names the provider's host, and leads back to where the visitor wanted to go", async () => {
    const { text } = await browser().step("/console/sign-in?next=/console/runs")
    expect(text).toContain(`Sign in with ${new URL(provider().issuer).host}`)
    expect(text).toContain("/console/sign-in/provider?next=%2Fconsole%2Fruns")
    const { url, status } = await browser().signInAs("grace", "/console/runs?status=ok")
    expect([url.href, status]).toEqual([`${CONSOLE_ORIGIN}/console/runs?status=ok`, 200])
  })

  test("the cookies are HttpOnly and Lax: the provider's answer comes from another site", async () => {
    const one = browser()
    const started = await one.step("/console/sign-in/provider")
    expect(started.headers.get("set-cookie")).toMatch(
      /^runseal-sign-in=[\w.-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    const finished = await one.step(await one.answerFor("grace"))
    const cookies = finished.headers.getSetCookie()
    expect(cookies).toHaveLength(2)
    expect(cookies[0]).toMatch(/^runseal-sign-in=; Max-Age=0; Path=\//)
    expect(cookies[1]).toMatch(/^runseal-session=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax$/)
    expect([finished.status, finished.location?.href]).toEqual([303, `${CONSOLE_ORIGIN}/console`])
  })

  describe("an answer of the provider counts", () => {
    const refusedTo = async (victim: SignInBrowser, answer: URL): Promise<void> => {
      const before = victim.cookies.get(SESSION)
      const { status, text } = await victim.go(answer)
      expect(status).toBe(403)
      expect(text).toContain("did not begin in this browser")
      expect(victim.cookies.get(SESSION)).toBe(before)
    }

    test("in the browser that began: not in one that began nothing, nor in one that began a sign-in of its own", async () => {
      const attacker = browser()
      const answer = await attacker.answerFor("mallory")
      await refusedTo(browser(), answer)
      const victim = browser()
      await victim.step("/console/sign-in/provider")
      await refusedTo(victim, answer)
      // The code was not used up, so that the provider was not asked.
      expect((await attacker.go(answer)).text).toContain("none of your groups has a role")
    })

    test("and the session that the browser has stays", async () => {
      const answer = await browser().answerFor("grace")
      const victim = await signedIn("ada")
      await refusedTo(victim, answer)
      expect(await sessionOf(victim)).toMatchObject({ name: "ada" })
    })

    test("once: also where somebody has copied the cookie", async () => {
      const one = browser()
      const answer = await one.answerFor("grace")
      const copied = one.cookies.get(STARTED) ?? ""
      expect((await one.go(answer)).status).toBe(200)
      await refusedTo(one, answer)
      const other = browser()
      other.cookies.set(STARTED, copied)
      const { status, text } = await other.go(answer)
      expect([status, other.cookies.has(SESSION)]).toEqual([403, false])
      expect(text).toContain("did not sign you in")
    })

    test("for ten minutes", async () => {
      const one = browser()
      const answer = await one.answerFor("grace")
      service().clock.advance(10 * MINUTE_MS + 1)
      await refusedTo(one, answer)
    })

    test("with its own state, once", async () => {
      const changes: readonly ((answer: URL) => void)[] = [
        ({ searchParams }) => searchParams.delete("state"),
        ({ searchParams }) => searchParams.set("state", "0".repeat(64)),
        ({ searchParams }) => searchParams.append("state", searchParams.get("state") ?? ""),
      ]
      for (const change of changes) {
        const one = browser()
        const answer = await one.answerFor("grace")
        change(answer)
        await refusedTo(one, answer)
      }
    })

    test("where it is of this provider", async () => {
      const one = browser()
      const answer = await one.answerFor("grace")
      answer.searchParams.set("iss", "https://other.example")
      const { status, text } = await one.go(answer)
      expect(status).toBe(403)
      expect(text).toContain("did not sign you in")
      expect(one.cookies.has(SESSION)).toBe(false)
    })

    test("beside a cookie that is as the service made it", async () => {
      const one = browser()
      const answer = await one.answerFor("grace")
      const cookie = one.cookies.get(STARTED) ?? ""
      const [began = "", random = "", page = "", mac = ""] = cookie.split(".")
      const elsewhere = Buffer.from("/console/keys").toString("base64url")
      const forged = [
        [`${Number(began) + 1}`, random, page, mac],
        [began, random.replace(/^./, digit => (digit === "0" ? "1" : "0")), page, mac],
        [began, random, elsewhere, mac],
        [began, random, page, "0".repeat(64)],
        [began, random, page],
        ["x".repeat(5000)],
      ]
      for (const parts of forged) {
        one.cookies.set(STARTED, parts.join("."))
        await refusedTo(one, answer)
      }
    })
  })

  test("a token that the browser had before is not that of the session", async () => {
    const planted = "ab".repeat(32)
    const victim = browser()
    victim.cookies.set(SESSION, planted)
    await victim.signInAs("grace")
    expect(victim.cookies.get(SESSION)).toMatch(/^[0-9a-f]{64}$/)
    expect(victim.cookies.get(SESSION)).not.toBe(planted)
    // The session that a browser had ends with the next sign-in.
    const before = victim.cookies.get(SESSION) ?? ""
    await victim.signInAs("grace")
    const old = browser()
    old.cookies.set(SESSION, before)
    expectRefused(await old.send("GET", "/session"), 401)
  })

  test.each([
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example",
    "/console@evil.example",
    "/console/\n//evil.example",
    "/console/../admin/keys",
    "/console/runs/%2e%2E/../admin/keys",
    "javascript:alert(1)",
    `/console/${"a".repeat(600)}`,
  ])("%j is no page to be led to", async next => {
    const one = browser()
    const { url } = await one.signInAs("grace", next)
    expect(url.href).toBe(`${CONSOLE_ORIGIN}/console`)
  })

  test("a page of another site starts no sign-in: its visitor decides", async () => {
    for (const site of ["cross-site", "same-site"]) {
      const { status, location, headers } = await browser({ "Sec-Fetch-Site": site }).step("/console/sign-in/provider")
      expect([status, location?.pathname, headers.get("set-cookie")]).toEqual([303, "/console/sign-in", null])
    }
  })

  test("a link of another site opens a page of the console with the session, and nothing else", async () => {
    const one = await signedIn("grace")
    const from = (path: string, site: string): Promise<Response> =>
      service().request(path, {
        redirect: "manual",
        headers: { Cookie: `${SESSION}=${one.cookies.get(SESSION)}`, "Sec-Fetch-Site": site },
      })
    expect((await from("/console/runs", "cross-site")).status).toBe(200)
    for (const path of ["/admin/audit/export", "/admin/runs", "/session"]) {
      expect((await from(path, "cross-site")).status, path).toBe(401)
      expect((await from(path, "same-origin")).status, path).toBe(200)
      expect((await from(path, "none")).status, path).toBe(200)
    }
  })

  test("who says no at the provider is told so, without the provider's words", async () => {
    const one = browser()
    const { status, text } = await one.signInAs("")
    expect(status).toBe(403)
    expect(text).toContain("did not sign you in")
    expect(text).not.toContain("access_denied")
    expect([...one.cookies.keys()]).toEqual([])
  })

  test("a person without a group that has a role is told so, and gets no session", async () => {
    const one = browser()
    const { status, text } = await one.signInAs("mallory")
    expect(status).toBe(403)
    expect(text).toContain("none of your groups has a role here")
    expect([...one.cookies.keys()]).toEqual([])
  })

  test("of several groups the greatest right holds, and a new sign-in reads them anew", async () => {
    groups.set("joan", ["treasury", "compliance"])
    const one = await signedIn("joan")
    expect(await sessionOf(one)).toMatchObject({ scope: "auditor", person: { groups: ["treasury", "compliance"] } })
    groups.set("joan", ["treasury"])
    expect(await sessionOf(one)).toMatchObject({ scope: "auditor" })
    expect(await sessionOf(await signedIn("joan"))).toMatchObject({ scope: "approver" })
  })

  test("a session ends after half an hour without a request, after eight hours, and when it is closed", async () => {
    const idle = await signedIn("grace")
    service().clock.advance(30 * MINUTE_MS)
    expectRefused(await idle.send("GET", "/session"), 401)
    const used = await signedIn("grace")
    for (let minutes = 0; minutes < 8 * 60 - 20; minutes += 20) {
      service().clock.advance(20 * MINUTE_MS)
      expect((await used.send("GET", "/session")).status).toBe(200)
    }
    service().clock.advance(20 * MINUTE_MS)
    expectRefused(await used.send("GET", "/session"), 401)
    const closed = await signedIn("grace")
    const token = closed.cookies.get(SESSION) ?? ""
    expect((await closed.send("DELETE", "/session")).status).toBe(200)
    closed.cookies.set(SESSION, token)
    expectRefused(await closed.send("GET", "/session"), 401)
  })

  test("signing out says that the session at the provider goes on", async () => {
    const one = await signedIn("grace")
    const answer = await service().request("/console/sign-out", {
      method: "POST",
      redirect: "manual",
      headers: { Cookie: `${SESSION}=${one.cookies.get(SESSION)}`, "Sec-Fetch-Site": "same-origin" },
    })
    expect(answer.headers.get("location")).toBe("/console/sign-in?signed_out")
    expectRefused(await one.send("GET", "/session"), 401)
    const { text } = await browser().step("/console/sign-in?signed_out")
    expect(text).toContain(`Your session at ${new URL(provider().issuer).host} goes on`)
  })

  test("what changes something needs the CSRF token of the session", async () => {
    const one = await signedIn("grace")
    for (const token of [undefined, "0".repeat(64), textAt(await sessionOf(await signedIn("grace")), "csrf_token")]) {
      const answer = await service().request("/admin/keys", {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          Cookie: `${SESSION}=${one.cookies.get(SESSION)}`,
          ...(token === undefined ? {} : { "X-CSRF-Token": token }),
        },
        body: JSON.stringify(CUSTOMER),
      })
      expect(answer.status).toBe(403)
      expect(await answer.json()).toMatchObject({ code: "csrf_token_required" })
    }
  })

  test("what an administrator does is sealed with who it was", async () => {
    const one = await signedIn("grace")
    const made = await one.send("POST", "/admin/keys", { name: "made-by-grace" })
    expect(made.status, made.text).toBe(201)
    const id = numberAt(made.body, "id")
    expect((await one.send("PATCH", `/admin/keys/${id}`, { notes: "x" })).status).toBe(200)
    expect((await one.send("POST", `/admin/keys/${id}/rotate`, {})).status).toBe(200)
    expect((await one.send("DELETE", `/admin/keys/${id}`)).status).toBe(200)
    const { body } = await one.send("GET", `/admin/audit?subject_kind=key&subject_id=${id}`)
    const who = { actor: "person", name: "grace", issuer: provider().issuer, subject: "grace" }
    const events = listAt(body, "events")
    expect(events).toMatchObject(
      ["key.revoke", "key.rotate", "key.change", "key.create"].map(action => ({ action, who })),
    )
    const { body: event } = await one.send("GET", `/admin/audit/${numberAt(events[0], "ordinal")}`)
    expect(event).toMatchObject({ kind: "vfa.admin_event.v2", who })
    const { body: keys } = await one.send("GET", "/admin/keys")
    expect(listAt(keys, "keys").at(-1)).toMatchObject({ id, created_by: "person", revoked_by: "person" })
    const { text } = await one.step("/console/audit")
    expect(text).toContain(`person (grace, grace of ${provider().issuer})`)
  })

  test("what lasts as long as a key needs one: a person shares, publishes and claims nothing", async () => {
    const one = await signedIn("grace")
    for (const [path, body] of [
      ["/admin/runs/1/share", {}],
      ["/admin/runs/1/publish", undefined],
      ["/admin/runs/claim", { key_id: 1 }],
    ] as const) {
      const answer = await one.send("POST", path, body)
      // Of a run that does not exist nothing else is stated.
      expectRefused(answer, 403)
      expect(answer.body).toMatchObject({ code: "person_not_allowed" })
    }
  })

  test("an idempotency key of one person is not that of another", async () => {
    groups.set("jean", ["ops"])
    const once = async (one: SignInBrowser): Promise<number> => {
      const { body } = await one.send("GET", "/session")
      const answer = await service().request("/admin/keys", {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          Cookie: `${SESSION}=${one.cookies.get(SESSION)}`,
          "X-CSRF-Token": textAt(body, "csrf_token"),
          "Idempotency-Key": '"the same"',
        },
        body: JSON.stringify(CUSTOMER),
      })
      return answer.status
    }
    const [grace, jean] = [await signedIn("grace"), await signedIn("jean")]
    expect([await once(grace), await once(jean), await once(grace)]).toEqual([201, 201, 409])
  })

  test("an approver sees that no approval waits, its passkeys, and no other page", async () => {
    const one = browser()
    const { url, text } = await one.signInAs("alan", "/console/runs")
    expect(url.pathname).toBe("/console/runs")
    expect(text).toContain("An approver sees approvals and the own passkeys, and nothing else.")
    const first = await one.go("/console")
    expect(first.url.pathname).toBe("/console/approvals")
    expect(first.text).toContain("No approval waits for you.")
    expect(first.text.match(/<nav class="places"[\s\S]*?<\/nav>/)?.[0].match(/href="[^"]*"/g)).toEqual([
      'href="/console/approvals"',
      'href="/console/passkeys"',
    ])
  })

  test("one person has 16 sessions; one more ends the oldest", async () => {
    groups.set("edsger", ["compliance"])
    const all: SignInBrowser[] = []
    for (let i = 0; i < 17; i++) all.push(await signedIn("edsger"))
    const statuses = await Promise.all(all.map(async one => (await one.send("GET", "/session")).status))
    expect(statuses).toEqual([401, ...Array(16).fill(200)])
  })

  test("keys sign in as before", async () => {
    const answer = await service().post("/session", { key: admin.secret ?? "" })
    expect([answer.status, answer.body]).toMatchObject([201, { key_id: admin.id, scope: "admin" }])
  })

  test("neither the cookie of a sign-in nor the token of a session is in a table or a line of the log", async () => {
    const one = browser()
    const answer = await one.answerFor("grace")
    const [, random = "?"] = (one.cookies.get(STARTED) ?? "").split(".")
    await one.go(answer)
    const code = answer.searchParams.get("code") ?? "?"
    const everything = `${await dumpTables(service().db, 13)}\n${service().logLines.join("\n")}`
    for (const secret of [random, code, one.cookies.get(SESSION) ?? "?", CLIENT.secret])
      expect(everything).not.toContain(secret)
  })
})

test("a group has the role that the process gives it which reads the session, also where it was given another since", async () => {
  const roles = new Map(ROLES)
  const open = await openService({ config: settings(roles) })
  try {
    const one = signInBrowser(() => open)
    await mint(open, ADMIN)
    await one.signInAs("grace")
    expect((await one.send("GET", "/session")).body).toMatchObject({ scope: "admin" })
    roles.set("ops", "auditor")
    expect((await one.send("GET", "/session")).body).toMatchObject({ scope: "auditor" })
    roles.delete("ops")
    expectRefused(await one.send("GET", "/session"), 401)
  } finally {
    await open.close()
  }
})

test("a person has one rate limit over all its sessions, and shares it with nobody", async () => {
  groups.set("mary", ["compliance"])
  const open = await openService({ config: { ...settings(), rateLimit: 3 } })
  try {
    await mint(open, ADMIN)
    const auditor = async (subject: string): Promise<SignInBrowser> => {
      const made = signInBrowser(() => open)
      // The start alone: the page at the end asks as well.
      open.clock.advance(MINUTE_MS)
      await made.step(await made.answerFor(subject))
      return made
    }
    const [here, there, other] = [await auditor("ada"), await auditor("ada"), await auditor("mary")]
    const ask = async (one: SignInBrowser): Promise<number> => (await one.send("GET", "/admin/runs")).status
    expect([await ask(here), await ask(there), await ask(here), await ask(there)]).toEqual([200, 200, 200, 429])
    expect(await ask(other)).toBe(200)
  } finally {
    await open.close()
  }
})

test("where there is no provider, nobody signs in with one", async () => {
  const open = await openService()
  try {
    expect((await open.get("/version")).body).not.toHaveProperty("sign_in_with")
    for (const [path, body] of [
      ["/session/sign-in", {}],
      ["/session/sign-in/answer", { query: "code=x&state=y" }],
    ] as const) {
      const answer = await open.post(path, body)
      expectRefused(answer, 403)
      expect(answer.body).toMatchObject({ code: "sign_in_off" })
    }
    expect(await (await open.request("/console/sign-in")).text()).not.toContain("Sign in with")
  } finally {
    await open.close()
  }
})
