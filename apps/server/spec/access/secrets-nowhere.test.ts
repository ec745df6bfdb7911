/** docs/api.md, "POST /admin/keys": of a secret only the SHA-256 is stored; it is in no log line, no error and no address. */
import { createHash } from "node:crypto"
import { beforeAll, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { ADMIN, CUSTOMER, caller, type Holder, heldAt, mint } from "../harness/key-holders.ts"
import type { Answer } from "../harness/read-answer.ts"
import { numberAt, textAt } from "../harness/read-answer.ts"
import { runSql } from "../harness/read-tables.ts"
import { fullRequest, request } from "../harness/sample-requests.ts"
import { dumpTables, spellings } from "../harness/spellings.ts"
import { standingService } from "../harness/test-service.ts"

eachDatabase("secrets", open => {
  const service = standingService(() => ({ open }))
  let holders: readonly Holder[] = []
  /** Every answer but those of the mint. */
  const answers: Answer[] = []
  /** Of which something must be left: the search reads what is stored. */
  const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex")
  const secrets = (): readonly string[] => holders.map(({ secret }) => secret ?? "")
  const found = (text: string): readonly string[] =>
    // Without its prefix as well: the random part is what opens.
    secrets().flatMap(secret => [secret, secret.slice(4)].flatMap(spellings).filter(one => text.includes(one)))

  beforeAll(async () => {
    const admin = await mint(service(), ADMIN)
    const customer = await mint(service(), CUSTOMER, admin)
    const revoked = await mint(service(), CUSTOMER, admin)
    holders = [admin, customer, revoked]
    await admin.send("DELETE", `/admin/keys/${revoked.id}`)
    for (const holder of [...holders, caller(service(), `${admin.secret}0`), caller(service(), ` ${admin.secret} x`)]) {
      const run = await holder.execute(fullRequest())
      answers.push(run, await holder.execute({ payload: 7 }), await holder.post("/admin/keys", { name: 7 }))
      answers.push(await holder.post("/execute/verify-determinism", request()))
      for (const path of ["/runs", "/admin/keys", "/no-such-endpoint", "/runs/x", "/health", "/attestations"])
        answers.push(await holder.get(path))
      if (run.status !== 200) continue
      const id = numberAt(run.body, "run_id")
      answers.push(await holder.post(`/admin/runs/${id}/publish`), await holder.get(`/runs/${id}/artifacts`))
    }
    const published = answers.find(({ body }) => "token" in body)
    answers.push(await caller(service()).get(`/public/runs/${textAt(published?.body, "token")}/bundle.json`))
  })

  test("are in no table, and their hashes in one", async () => {
    const text = await dumpTables(service().db, 13)
    expect(found(text)).toEqual([])
    for (const secret of secrets()) expect(text.split(hashOf(secret))).toHaveLength(2)
  })

  test("are in no answer but the one that made the key", () => {
    expect(answers.length).toBeGreaterThan(50)
    for (const { text, headers } of answers) {
      const whole = `${text}\n${[...headers].join("\n")}`
      expect(found(whole)).toEqual([])
      for (const secret of secrets()) expect(whole).not.toContain(hashOf(secret))
    }
  })

  test("are in no line of the process log, not even when the server fails at the look-up", async () => {
    const [admin] = holders
    await runSql(service().db, "alter table api_key rename to api_key_elsewhere")
    const statuses: number[] = []
    try {
      for (const holder of [...holders, caller(service())]) {
        const answer = await heldAt(service(), holder).get("/runs")
        statuses.push(answer.status)
        expect(found(answer.text)).toEqual([])
        const minted = await holder.post("/admin/keys", ADMIN)
        expect(found(minted.text)).toEqual([])
      }
    } finally {
      await runSql(service().db, "alter table api_key_elsewhere rename to api_key")
    }
    expect(new Set(statuses).has(200), "a query that fails admits nobody").toBe(false)
    expect((await admin!.get("/runs")).status).toBe(200)
    const lines = service().logLines.join("\n")
    expect(found(lines)).toEqual([])
    for (const secret of secrets()) expect(lines).not.toContain(hashOf(secret))
  })
})
