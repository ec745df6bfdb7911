/**
 * kill -9 of a server around the COMMIT of an administrator's act. A revocation is in force exactly when its event is in the log, and one that was
 * answered is in the remembered head too: a database without it is known to be an older one. Decision 0231.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { openDatabase } from "@runseal/server/store/driver/database"
import { expect, test } from "vitest"
import { startCuttingProxy } from "../../../apps/server/spec/database/cutting-proxy.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import { type Child, startChild } from "../../../apps/server/spec/harness/child.ts"
import {
  ADMIN,
  CUSTOMER,
  caller,
  type Holder,
  mint,
  type RequestTarget,
} from "../../../apps/server/spec/harness/key-holders.ts"
import { faultRow } from "./fault-row.ts"
import { drawn, ROUNDS, WHOLE } from "./rounds.ts"

/** 200 with `npm run faults`. */
/** Two of each kind, or many. */
const KILLS = WHOLE ? 10 * ROUNDS : 6
const DEADLINE_MS = 300_000 + 20_000 * KILLS
/** Longer than a revocation takes: a kill at a drawn instant of it falls before, within or after it. */
const REVOCATION_MS = 60

const targetOf = ({ url }: Child): RequestTarget => ({ request: (path, init) => fetch(url + path, init) })

type StoredKey = { readonly key_id: number; readonly revoked: boolean; readonly log_index: number | null }

/** Size of the largest head that is remembered beside the keys. */
const rememberedSize = (keysDir: string): number =>
  Math.max(
    0,
    ...readdirSync(join(keysDir, "heads"))
      .filter(name => name !== "id")
      .map(name => Number(readFileSync(join(keysDir, "heads", name), "latin1").slice(0, 16))),
  )

test.skipIf(postgresStart.kind === "absent")(
  `a server killed around the COMMIT of a revocation ${postgresTitle}`,
  async context => {
    const row = faultRow(context, "kill -9 around a revocation", "PostgreSQL")
    const folder = mkdtempSync(join(tmpdir(), "runseal-killed-revocations-"))
    const keysDir = join(folder, "keys")
    const url = await newPostgresUrl()
    const proxy = await startCuttingProxy(Number(new URL(url).port))
    const way = new URL(url)
    way.port = `${proxy.port}`
    const options = ["--data-dir", join(folder, "data"), "--keys-dir", keysDir, "--database-url", way.href]
    const db = await openDatabase({ kind: "postgres", url })
    let child: Child | undefined
    context.onTestFinished(async () => {
      await child?.end("SIGKILL")
      await db.close()
      proxy.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const stored = (key: number): Promise<StoredKey[]> => db.sql<StoredKey[]>`
      select key_id, revoked_at <> 0 as revoked,
        (select log_index from admin_event where action = 'key.revoke' and subject_id = key_id::text) as log_index
      from api_key where key_id = ${key}`
    let admin: Holder | undefined
    let unanswered: number | undefined
    const met = { before: 0, after: 0, drawn: 0, revoked: 0 }
    for (; row.rounds < KILLS; row.rounds++) {
      const server = await startChild(options)
      child = server
      admin = admin === undefined ? await mint(targetOf(server), ADMIN) : caller(targetOf(server), admin.secret)
      if (unanswered !== undefined) {
        expect((await admin.send("DELETE", `/admin/keys/${unanswered}`)).status).toBe(200)
        row.retried++
      }
      const { id } = await mint(targetOf(server), CUSTOMER, admin)
      const how = (["before", "after", "drawn"] as const)[row.rounds % 3] ?? "drawn"
      const { promise: killed, resolve } = Promise.withResolvers<unknown>()
      const kill = (): void => resolve(server.end("SIGKILL"))
      if (how !== "drawn") proxy.cutAt("commit\0", how, kill)
      else void sleep(REVOCATION_MS * drawn("killed revocations", row.rounds)).then(kill)
      const answer = await admin.send("DELETE", `/admin/keys/${id}`).catch(() => undefined)
      await killed
      proxy.letPass()
      met[how]++
      const [found] = await stored(id)
      const isLogged = (found?.log_index ?? 0) > 0
      expect({ round: row.rounds, how, revoked: found?.revoked }).toEqual({ round: row.rounds, how, revoked: isLogged })
      if (isLogged) met.revoked++
      unanswered = answer === undefined ? id : undefined
      if (answer === undefined) {
        row.unacknowledged++
        if (isLogged) row.found++
        continue
      }
      row.acknowledged++
      expect({ status: answer.status, isLogged }).toEqual({ status: 200, isLogged: true })
      expect(rememberedSize(keysDir)).toBeGreaterThan(found?.log_index ?? Number.POSITIVE_INFINITY)
    }
    const [counted] = await db.sql<{ events: number; keys: number }[]>`
      select count(*) as events, count(distinct subject_id) as keys from admin_event where action = 'key.revoke'`
    expect(counted?.events, "a repeat leaves no second event").toBe(counted?.keys)
    row.note = `${met.before} before the COMMIT, ${met.after} before its answer, ${met.drawn} at a drawn instant: ${met.revoked} revoked, each with its event`
  },
  DEADLINE_MS,
)
