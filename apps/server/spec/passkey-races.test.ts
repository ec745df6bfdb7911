/**
 * Passkeys that are enrolled, confirmed and revoked while people decide with them and permits are collected, by two processes at once: each permit
 * has its approvals, and nothing is there twice. What the house checks after each test is part of every one.
 */
import { PASSKEYS_OF_PERSON_MAX } from "@runseal/core/wire/passkey-messages"
import { beforeAll, describe, expect, test } from "vitest"
import type { TestPasskey } from "../../../libs/core/test/fixtures/passkeys.ts"
import { postgresStart, postgresTitle } from "./database/databases.ts"
import { approvalOf, collect, transferOf } from "./harness/approving-people.ts"
import { ADMIN, CUSTOMER, type Holder, heldAt, mint } from "./harness/key-holders.ts"
import {
  decideSigned,
  enrol,
  PASSKEY_POLICY,
  passkeyIdOf,
  passkeyOf,
  signedIn,
} from "./harness/people-with-passkeys.ts"
import { at, listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { signInConfig, standingProvider } from "./harness/sign-in-browser.ts"
import { standingTwins } from "./harness/twin-services.ts"

const ROUNDS = 6
const provider = standingProvider(account => (account === "grace" ? ["ops"] : ["treasury"]))

describe.skipIf(postgresStart.kind === "absent")(`two services ${postgresTitle}`, describeTwins)

function describeTwins(): void {
  const roles = new Map([
    ["ops", "admin"],
    ["treasury", "approver"],
  ] as const)
  const twins = standingTwins(() => ({ ...signInConfig(provider().issuer, roles), approvals: "on" }), PASSKEY_POLICY)
  let turn = 0
  /** Each request of a person comes to the other process than its last. */
  const person = (subject: string): Promise<Holder> => signedIn(() => twins()[turn++ % 2 === 0 ? 0 : 1], subject)
  const keyOf = (subject: string, which: string): TestPasskey => passkeyOf(subject, provider().issuer, which)
  const confirm = (by: Holder, key: TestPasskey) => by.post(`/passkeys/${passkeyIdOf(key)}/confirmation`)
  const revoke = (by: Holder, key: TestPasskey) => by.send("DELETE", `/passkeys/${passkeyIdOf(key)}`)
  let admin: Holder
  let asker: Holder
  beforeAll(async () => {
    admin = await mint(twins()[0], ADMIN)
    asker = await mint(twins()[0], CUSTOMER, admin)
  })

  test("one passkey is enrolled once, and a person has no more of them than it may", async () => {
    const paula = await person("paula")
    const keys = Array.from({ length: PASSKEYS_OF_PERSON_MAX + 2 }, (_, at) => keyOf("paula", `limit ${at}`))
    const answers = await Promise.all([...keys, ...keys].map(key => enrol(paula, key)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(PASSKEYS_OF_PERSON_MAX)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]))
    const { body } = await paula.get("/passkeys")
    expect(body.total).toBe(PASSKEYS_OF_PERSON_MAX)
    for (const key of keys) await revoke(paula, key)
  })

  test("a passkey that is confirmed, used and revoked at once counts in the order that is sealed", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [key, id] = [keyOf("quinn", `${round}`), approvalOf(await asker.post("/permits", transferOf(12_500)))]
      const [quinn, grace] = [await person("quinn"), await person("grace")]
      expect((await enrol(quinn, key)).status).toBe(201)
      const [confirmed, decided, revoked] = await Promise.all([
        confirm(grace, key),
        decideSigned(quinn, id, "approve", key),
        round % 2 === 0 ? revoke(heldAt(twins()[1], admin), key) : undefined,
      ])
      expect([200, 403]).toContain(confirmed.status)
      expect([200, 403]).toContain(decided.status)
      expect([200, undefined]).toContain(revoked?.status)
      const orderOf = async (kind: string, of: string) =>
        new Map(
          listAt((await admin.get(`/admin/audit?subject_kind=${kind}&subject_id=${of}`)).body, "events").map(event => [
            textAt(event, "action"),
            numberAt(event, "ordinal"),
          ]),
        )
      const [acts, decisions] = [await orderOf("passkey", passkeyIdOf(key)), await orderOf("approval", id)]
      const approved = decisions.get("approval.approve")
      expect(approved !== undefined).toBe(decided.status === 200)
      if (approved === undefined) continue
      expect(approved).toBeGreaterThan(acts.get("passkey.confirm") ?? Number.POSITIVE_INFINITY)
      expect(approved).toBeLessThan(acts.get("passkey.revoke") ?? Number.POSITIVE_INFINITY)
    }
  })

  test("decisions, a revocation and collections at once: one permit with both passkeys, or none", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const keys = ["rita", "sam"].map(subject => keyOf(subject, `${round}`))
      const [rita, sam] = [await person("rita"), await person("sam")]
      for (const [holder, key] of [
        [rita, keys[0]],
        [sam, keys[1]],
      ] as const)
        if (key !== undefined) expect((await enrol(holder, key)).status).toBe(201)
      const grace = await person("grace")
      for (const key of keys) expect((await confirm(grace, key)).status).toBe(200)
      const [first, second] = keys
      if (first === undefined || second === undefined) throw new Error("two keys")
      const id = approvalOf(await asker.post("/permits", transferOf(12_500)))
      const [one, other, , ...collected] = await Promise.all([
        decideSigned(rita, id, "approve", first),
        decideSigned(sam, id, "approve", second),
        revoke(admin, second),
        collect(asker, id),
        collect(heldAt(twins()[1], asker), id),
      ])
      const last = await collect(asker, id)
      const bothApproved = one.status === 200 && other.status === 200
      expect(last.status).toBe(bothApproved ? 201 : 202)
      const permits = [...collected, last].filter(({ status }) => status === 201)
      expect(new Set(permits.map(({ body }) => textAt(body, "permit_id"))).size).toBe(bothApproved ? 1 : 0)
      for (const { body } of permits)
        expect(
          listAt(objectAt(body, "opening", "sections", "approvals"), "decisions").map(decision =>
            at(decision, "passkey", "public_key"),
          ),
        ).toEqual(expect.arrayContaining(keys.map(({ key }) => key.public_key)))
    }
  })
}
