/** Passkeys of people who approve: how they are enrolled, confirmed and revoked. docs/api.md, "Passkeys". */
import { PASSKEY_WAIT_MS, PASSKEYS_A_DAY_MAX, PASSKEYS_OF_PERSON_MAX } from "@runseal/core/wire/passkey-messages"
import { beforeAll, describe, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import { enrol, enrolment, PASSKEY_POLICY, passkeyIdOf, passkeyOf, signedIn } from "./harness/people-with-passkeys.ts"
import { expectRefused, listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { signInConfig, standingProvider } from "./harness/sign-in-browser.ts"
import { openService, standingService } from "./harness/test-service.ts"

const MINUTE_MS = 60_000
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  grace: ["ops"],
  heidi: ["ops"],
  ada: ["compliance"],
}
const provider = standingProvider(account => GROUPS[account] ?? ["treasury"])

const signIns = () =>
  signInConfig(
    provider().issuer,
    new Map([
      ["ops", "admin"],
      ["compliance", "auditor"],
      ["treasury", "approver"],
    ] as const),
  )

eachDatabase("passkeys", open => {
  const service = standingService(() => ({
    open,
    policy: PASSKEY_POLICY,
    config: { ...signIns(), approvals: "on" },
  }))
  let admin: Holder
  let agent: Holder
  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    agent = await mint(service(), CUSTOMER, admin)
  })
  const person = (subject: string): Promise<Holder> => signedIn(service(), subject)
  const keyOf = (subject: string, which?: string) => passkeyOf(subject, provider().issuer, which)
  const eventsOf = async (id: string) =>
    listAt((await admin.get(`/admin/audit?subject_kind=passkey&subject_id=${id}`)).body, "events")
  const stateOf = async (id: string): Promise<unknown> =>
    listAt((await admin.get("/passkeys")).body, "passkeys")
      .map(each => objectAt(each))
      .find(({ passkey_id }) => passkey_id === id)?.state

  describe("enrolment", () => {
    test("is by the person, and sealed with the key and from when it counts: a day later", async () => {
      const [alan, key] = [await person("alan"), keyOf("alan")]
      const { status, body, text } = await enrol(alan, key)
      expect(status, text).toBe(201)
      expect(body).toMatchObject({ state: "pending", ...key.key, name: "laptop", passkey_id: passkeyIdOf(key) })
      expect(Date.parse(textAt(body, "counts_from")) - Date.parse(textAt(body, "enrolled_at"))).toBe(PASSKEY_WAIT_MS)
      expect(await eventsOf(passkeyIdOf(key))).toMatchObject([
        {
          action: "passkey.enrol",
          who: { actor: "person", issuer: provider().issuer, subject: "alan" },
          after: { ...key.key, name: "laptop", counts_from: body.counts_from },
          sealed: expect.anything(),
        },
      ])
      service().clock.advance(PASSKEY_WAIT_MS)
      expect(await stateOf(passkeyIdOf(key))).toBe("counts")
    })

    test("where people enrol is in the list, which has to a person its own, to administrators and auditors all", async () => {
      const [alan, bob] = [await person("alan"), await person("bob")]
      const [first, second] = [keyOf("alan", "list"), keyOf("bob", "list")]
      await enrol(alan, first)
      await enrol(bob, second)
      const { body } = await bob.get("/passkeys")
      expect(body).toMatchObject({
        enrolment: { origin: "http://localhost", rp_id: "localhost" },
        total: 1,
        passkeys: [{ passkey_id: passkeyIdOf(second), subject: "bob" }],
      })
      for (const reader of [admin, await person("grace"), await person("ada")])
        expect((await reader.get("/passkeys")).body.passkeys).toMatchObject([
          { subject: "bob" },
          { subject: "alan" },
          {},
        ])
      expectRefused(await agent.get("/passkeys"), 403, "admin_key_required")
    })

    test("is refused of a key, long after the sign-in, and of what the passkey did not sign", async () => {
      const [carl, key] = [await person("carl"), keyOf("carl")]
      for (const holder of [admin, agent]) expectRefused(await enrol(holder, key), 403, "sign_in_again")
      expectRefused(await enrol(carl, keyOf("alan", "carl's")), 403, "passkey_invalid")
      expectRefused(await enrol(carl, passkeyOf("carl", "https://login.example")), 403, "passkey_invalid")
      expectRefused(await enrol(carl, key, { client: { origin: "http://localhost:81" } }), 403, "passkey_invalid")
      expectRefused(await enrol(carl, key, { flags: 0x01 }), 403, "passkey_invalid")
      expectRefused(await enrol(carl, key, { signature: () => new Uint8Array(70) }), 403, "passkey_invalid")
      const other = { ...enrolment(key), public_key: keyOf("alan").key.public_key }
      expectRefused(await carl.post("/passkeys", other), 403, "passkey_invalid")
      service().clock.advance(5 * MINUTE_MS + 1)
      expectRefused(await enrol(carl, key), 403, "sign_in_again")
      expect((await enrol(await person("carl"), key)).status).toBe(201)
    })

    test("either form of a signature is taken", async () => {
      const dora = await person("dora")
      for (const which of ["1", "2", "3", "4", "5", "6"])
        expect((await enrol(dora, keyOf("dora", which), { signature: der => der })).status).toBe(201)
    })

    test("a passkey is enrolled once for ever, by whomever, and a person has so many that are not revoked", async () => {
      const [emma, key] = [await person("emma"), keyOf("emma")]
      expect((await enrol(emma, key)).status).toBe(201)
      expectRefused(await enrol(emma, key), 409, "passkey_enrolled")
      const stolen = { ...key, key: { ...key.key, subject: "fred" } }
      expectRefused(await enrol(await person("fred"), stolen), 409, "passkey_enrolled")
      for (let held = 1; held < PASSKEYS_OF_PERSON_MAX; held++)
        expect((await enrol(emma, keyOf("emma", `${held}`))).status).toBe(201)
      expectRefused(await enrol(emma, keyOf("emma", "more")), 409, "too_many_passkeys")
      expect((await emma.send("DELETE", `/passkeys/${passkeyIdOf(key)}`)).body).toMatchObject({ state: "revoked" })
      expectRefused(await enrol(emma, key), 409, "passkey_enrolled")
      expect((await enrol(emma, keyOf("emma", "more"))).status).toBe(201)
    })

    test("a person enrols so many in a day, also where they are revoked at once", async () => {
      const hana = await person("hana")
      for (let made = 0; made < PASSKEYS_A_DAY_MAX; made++) {
        const key = keyOf("hana", `${made}`)
        expect((await enrol(hana, key)).status).toBe(201)
        await hana.send("DELETE", `/passkeys/${passkeyIdOf(key)}`)
      }
      const more = keyOf("hana", "more")
      expect(expectRefused(await enrol(hana, more), 409, "too_many_passkeys")).toContain("wait a day")
      service().clock.advance(PASSKEY_WAIT_MS)
      expect((await enrol(await person("hana"), more)).status).toBe(201)
    })
  })

  describe("a confirmation", () => {
    const confirm = (holder: Holder, id: string) => holder.post(`/passkeys/${id}/confirmation`)

    test("by an administrator who signed in just now lets it count at once, and is sealed", async () => {
      const [gina, key] = [await person("gina"), keyOf("gina")]
      await enrol(gina, key)
      const id = passkeyIdOf(key)
      const grace = await person("grace")
      expect((await confirm(grace, id)).body).toMatchObject({
        state: "counts",
        confirmed_by: { issuer: provider().issuer, subject: "grace" },
      })
      expect((await confirm(await person("heidi"), id)).body).toMatchObject({ confirmed_by: { subject: "grace" } })
      expect(await eventsOf(id)).toMatchObject([
        { action: "passkey.confirm", who: { subject: "grace" }, after: key.key, sealed: expect.anything() },
        { action: "passkey.enrol" },
      ])
    })

    test("is by no key, by no other role, not of one's own, and not of what is revoked", async () => {
      const [grace, key] = [await person("grace"), keyOf("grace")]
      await enrol(grace, key)
      const id = passkeyIdOf(key)
      expectRefused(await confirm(grace, id), 403, "person_not_allowed")
      for (const holder of [admin, agent]) expectRefused(await confirm(holder, id), 403, "sign_in_again")
      for (const subject of ["ada", "alan"])
        expectRefused(await confirm(await person(subject), id), 403, "person_not_allowed")
      const heidi = await person("heidi")
      service().clock.advance(5 * MINUTE_MS + 1)
      expectRefused(await confirm(heidi, id), 403, "sign_in_again")
      expectRefused(await confirm(await person("heidi"), "0".repeat(64)), 404, "not_found")
      expectRefused(await confirm(await person("heidi"), "0"), 404, "not_found")
      await admin.send("DELETE", `/passkeys/${id}`)
      expectRefused(await confirm(await person("heidi"), id), 403, "passkey_invalid")
    })
  })

  test("a revocation is by its person or an administrator, sealed, and once", async () => {
    const [ivan, key] = [await person("ivan"), keyOf("ivan")]
    await enrol(ivan, key)
    const [id, at] = [passkeyIdOf(key), `/passkeys/${passkeyIdOf(key)}`]
    expectRefused(await (await person("alan")).send("DELETE", at), 404, "not_found")
    expectRefused(await (await person("ada")).send("DELETE", at), 404, "not_found")
    expectRefused(await agent.send("DELETE", at), 403, "admin_key_required")
    const revoked = await ivan.send("DELETE", at)
    expect(revoked.body).toMatchObject({ state: "revoked" })
    expect((await admin.send("DELETE", at)).body).toEqual(revoked.body)
    expect(await eventsOf(id)).toMatchObject([
      { action: "passkey.revoke", who: { subject: "ivan" }, after: { subject: "ivan", revoked: true } },
      { action: "passkey.enrol" },
    ])
  })

  test("a list has as many as are asked for, of one state, and says how many there are", async () => {
    const [vera, wanda] = [await person("vera"), await person("wanda")]
    const listed = async (holder: Holder, query: string) => {
      const { body } = await holder.get(`/passkeys?${query}`)
      const passkeys = listAt(body, "passkeys").map(each => objectAt(each))
      return {
        total: numberAt(body, "total"),
        listed: passkeys.length,
        states: [...new Set(passkeys.map(({ state }) => state))],
      }
    }
    const waiting = await listed(admin, "state=pending")
    const keys = ["one", "two", "three"].map(which => keyOf("vera", which))
    for (const key of keys) expect((await enrol(vera, key)).status).toBe(201)
    expect((await enrol(wanda, keyOf("wanda"))).status).toBe(201)
    await vera.send("DELETE", `/passkeys/${passkeyIdOf(keys[0]!)}`)
    expect(await listed(vera, "state=pending")).toEqual({ total: 2, listed: 2, states: ["pending"] })
    expect(await listed(vera, "state=pending&limit=1")).toEqual({ total: 2, listed: 1, states: ["pending"] })
    expect(await listed(vera, "state=revoked")).toEqual({ total: 1, listed: 1, states: ["revoked"] })
    expect(await listed(vera, "state=counts")).toEqual({ total: 0, listed: 0, states: [] })
    expect(await listed(admin, "state=pending&limit=1")).toEqual({
      total: waiting.total + 3,
      listed: 1,
      states: ["pending"],
    })
    service().clock.advance(PASSKEY_WAIT_MS)
    expect(await listed(await person("vera"), "state=counts&limit=1")).toEqual({
      total: 2,
      listed: 1,
      states: ["counts"],
    })
    for (const query of ["limit=0", "limit=1001", "state=lost"])
      expectRefused(await admin.get(`/passkeys?${query}`), 400, "invalid_parameter")
  })
})

describe("where people cannot enrol passkeys", () => {
  const place = () => ({ ...signIns(), baseUrl: "http://127.0.0.1:8080", approvals: "on" }) as const

  test("nobody does, and the list names no place", async () => {
    const service = await openService({ config: place() })
    const admin = await mint(service, ADMIN)
    const { body } = await admin.get("/passkeys")
    expect(body).toEqual({ ok: true, total: 0, passkeys: [] })
    expectRefused(await enrol(admin, passkeyOf("alan", provider().issuer)), 403, "passkeys_off")
    await service.close()
  })

  test("a policy that asks for them is not loaded: the sentence says what to start with", async () => {
    const service = await openService({ config: place() })
    const admin = await mint(service, ADMIN)
    const refused = await admin.post("/admin/policies", { policy: PASSKEY_POLICY })
    expect(expectRefused(refused, 400, "invalid_field")).toContain("--base-url")
    await service.close()
    await expect(openService({ policy: PASSKEY_POLICY, config: place() })).rejects.toThrow("--base-url")
  })
})
