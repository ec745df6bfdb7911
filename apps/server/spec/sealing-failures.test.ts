/**
 * docs/pipeline.md, "Order of sealing": log time, and what a failure of log or database leaves behind: a 503, no run, and a log
 * that goes on.
 */
import { ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import type { Submission } from "@runseal/core/wire/submission"
import { describe, expect, test } from "vitest"
import type { SealedRun } from "../src/sealing/batch.ts"
import { STORE_LINE_EVERY_MS } from "../src/telemetry.ts"
import { bothDatabases } from "./database/databases.ts"
import { type Answer, expectRefused, textAt } from "./harness/read-answer.ts"
import { minted, runSql } from "./harness/read-tables.ts"
import { CANARY } from "./harness/refusal.ts"
import { PROGRAM_ID, REGISTRY_RECORD_HASH, request } from "./harness/sample-requests.ts"
import { readStoredBundle, writeStoredBundle } from "./harness/stored-bundle.ts"
import { standingService } from "./harness/test-service.ts"

function expectUnavailable(answer: Answer): void {
  expectRefused(answer, 503)
  expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
  expect(answer.body).not.toHaveProperty("run_id")
}

bothDatabases("sealing", open => {
  const service = standingService(() => ({ open }))
  /** Charges remain whatever becomes of the run; all else must be as it was. */
  const sealed = async (): Promise<object> => ({ ...(await minted(service().db)), movements: 0 })

  describe("log time", () => {
    test("does not go back when the clock does", async () => {
      await service().execute(request())
      service().clock.advance(-30_000)
      const answer = await service().execute(request())
      service().clock.advance(30_000)
      expect(answer.status).toBe(200)
    })

    test("that would differ from the clock by more than 60 s stops sealing with 503, until the clock is right", async () => {
      await service().execute(request())
      const before = await sealed()
      service().clock.advance(-75_000)
      const answers = [await service().execute(request()), await service().execute(request({ route_id: "other" }))]
      expect((await service().get("/runs")).status).toBe(200)
      service().clock.advance(75_000)
      for (const answer of answers) expectUnavailable(answer)
      expect(await sealed()).toEqual(before)
      expect((await service().execute(request())).status).toBe(200)
    })

    test("is the second of the run's own clock or a later one, within the sealed window", async () => {
      service().clock.advance(3_600_000)
      const { body } = await service().execute(request())
      const bundle = (await service().get(`/runs/${body.run_id}/artifacts?form=full`)).body
      const created = Math.floor(Date.parse(textAt(bundle, "run", "created_at")) / 1000)
      const logged = Number(textAt(bundle, "anchors", "pre_anchor", "entry", "integratedTime"))
      expect(logged - created).toBeGreaterThanOrEqual(0)
      expect(logged - created).toBeLessThanOrEqual(600)
      const iso = (seconds: number): string => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
      const window = `${iso(created)}/${iso(created + 600)}`
      expect(textAt(bundle, "anchors", "pre_anchor", "leaf", "anchoring_window")).toBe(window)
    })
  })

  describe("a run whose record can never verify", () => {
    /** No request makes one: its program id would be refused. */
    const submission = (program_id: string): Submission => ({
      tenant: { tenant_id: "anonymous", owner: 0 },
      program_id,
      route_id: "sealing",
      registry_record_hash: REGISTRY_RECORD_HASH,
      payload: "p",
      declared: {},
      declared_tokens: 0,
      origin: {
        source_ip_hash: ZERO_HASH,
        user_agent_hash: ZERO_HASH,
        authentication: { method: "anonymous", api_key_id: 0 },
      },
    })
    const together = (...programs: readonly string[]): Promise<readonly PromiseSettledResult<SealedRun>[]> =>
      Promise.allSettled(programs.map(program => service().deps.execute(submission(program))))

    test("is refused alone: every other run of its batch is sealed", async () => {
      const results = await together(PROGRAM_ID, "none", PROGRAM_ID, PROGRAM_ID, "none")
      const ids = results.map(result => (result.status === "fulfilled" ? result.value.bundle.run.run_id : undefined))
      const [first = 0] = ids
      expect(ids).toEqual([first, undefined, first + 1, first + 2, undefined])
      for (const result of results.filter(({ status }) => status === "rejected"))
        expect(result).toMatchObject({ reason: { name: "StoreError", code: "unavailable" } })
      expect((await service().execute(request())).body.run_id).toBe(first + 3)
    })

    test("and alone in its batch leaves nothing behind", async () => {
      const before = await sealed()
      const [result] = await together("none")
      expect(result).toMatchObject({ status: "rejected", reason: { code: "unavailable" } })
      expect(await sealed()).toEqual(before)
    })
  })

  describe("a database that refuses to store", () => {
    /** Makes the database refuse inserts into a table, quoting in its error what must not get out. */
    const refusing = async (table: string, work: () => Promise<void>, errcode = "P0001"): Promise<void> => {
      const { db } = service()
      await runSql(
        db,
        `create function refuse() returns trigger language plpgsql as
        $$ begin raise exception '${CANARY} %', new using errcode = '${errcode}'; end $$`,
      )
      await runSql(db, `create trigger refuse before insert on ${table} for each row execute function refuse()`)
      try {
        await work()
      } finally {
        await runSql(db, `drop trigger refuse on ${table}`)
        await runSql(db, "drop function refuse()")
      }
    }

    test.each(["run", "log_entry", "token_movement"])(
      "%s: 503, no run, nothing of the inside in the answer, and it recovers",
      async table => {
        const before = await sealed()
        await refusing(table, async () => {
          const answers = await Promise.all(
            [1, 2, 3].map(i => service().execute(request({ payload: `${CANARY} ${i}` }))),
          )
          for (const answer of answers) {
            expectUnavailable(answer)
            expect(answer.text).not.toMatch(new RegExp(`${CANARY}|insert|trigger|${table}|PL/pgSQL`, "i"))
          }
        })
        expect(await sealed()).toEqual(before)
        const lines = service().logLines.join("\n")
        expect(lines).not.toContain(CANARY)
        expect(lines).not.toMatch(/insert into/i)
        expect((await service().execute(request())).status).toBe(200)
      },
    )

    test.each([
      ["a full disk", "53100", /^The disk of the database is full; .* until its operator makes room\.$/],
      ["no writes", "25006", /Try again; if it stays so, its operator has to bring back a server that takes them\.$/],
      ["no more files", "53000", /Try again; if it stays so, the operator has to raise the limit of the process\.$/],
      ["a refused statement", "42501", /Trying again seldom helps before the operator has found the cause/],
      ["another writer", "40001", /nothing was acknowledged\. Try again\.$/],
    ])("%s: the caller is told what can be done", async (_state, errcode, sentence) => {
      await refusing(
        "run",
        async () => {
          const answer = await service().execute(request())
          expectUnavailable(answer)
          expect(textAt(answer.body, "error")).toMatch(sentence)
          expect(textAt(answer.body, "error")).toMatch(/; nothing was acknowledged\. /)
        },
        errcode,
      )
    })

    test("batches that fail are one line of the process log, and one when a batch is sealed again", async () => {
      await service().execute(request())
      const first = service().logLines.length
      await refusing("run", async () => {
        for (let i = 0; i < 5; i++) expectUnavailable(await service().execute(request()))
      })
      expect((await service().execute(request())).status).toBe(200)
      const lines = service()
        .logLines.slice(first)
        .map(line => JSON.parse(line))
      expect(lines.filter(({ msg }) => msg === "a batch was not sealed")).toMatchObject([{ level: 50 }])
      expect(lines.filter(({ msg }) => msg === "batches are sealed again")).toMatchObject([{ level: 30, refused: 5 }])
    })

    test("attestation: 503, nothing anchored, nothing of the inside in the answer, and it recovers", async () => {
      const attesting = { digest: "5e".repeat(32), algorithm: "sha256", subject_ref: CANARY }
      const before = await sealed()
      await refusing("attestation", async () => {
        for (const answer of await Promise.all([1, 2, 3].map(() => service().post("/attest", attesting)))) {
          expectUnavailable(answer)
          expect(answer.text).not.toMatch(new RegExp(`${CANARY}|insert|trigger|PL/pgSQL`, "i"))
        }
      })
      expect(await sealed()).toEqual(before)
      expect(service().logLines.join("\n")).not.toContain(CANARY)
      expect((await service().post("/attest", attesting)).status).toBe(201)
    })

    test("reads that fail are a 503, and show nothing of the inside", async () => {
      const { db } = service()
      await service().execute(request())
      await runSql(db, "alter table run rename to run_hidden")
      const answers: Answer[] = []
      for (const path of ["/runs", "/runs/search?status=ok", "/runs/1", "/runs/1/verify", "/runs/1/artifacts"])
        answers.push(await service().get(path))
      await runSql(db, "alter table run_hidden rename to run")
      for (const answer of answers) {
        expectUnavailable(answer)
        expect(answer.text).not.toMatch(/select|relation|does not exist/i)
      }
    })

    test("is reported in the process log at once, then once in ten seconds with how many requests met it", async () => {
      service().clock.advance(STORE_LINE_EVERY_MS)
      const [first = 0, later] = [service().logLines.length, 5]
      await runSql(service().db, "alter table run rename to run_hidden")
      for (let i = 0; i <= later; i++) await service().get(`/runs/search?route_id=${CANARY}`)
      service().clock.advance(STORE_LINE_EVERY_MS)
      await service().get("/runs")
      await runSql(service().db, "alter table run_hidden rename to run")
      const lines = service().logLines.slice(first)
      const failed = { level: 40, msg: "the record store failed requests", code: "rolled_back", sqlstate: "42P01" }
      expect(lines.map(line => JSON.parse(line))).toEqual([
        expect.objectContaining({ ...failed, requests: expect.any(Number) }),
        expect.objectContaining({ ...failed, requests: 1 + later }),
      ])
      expect(lines.join()).not.toMatch(new RegExp(`${CANARY}|select|/runs`))
    })

    test("a stored document that is no record is a 500 that names a request id and nothing of the inside", async () => {
      const { db } = service()
      await service().execute(request())
      const bundle = await readStoredBundle(db, 1)
      await writeStoredBundle(db, 1, `{"kind":"${CANARY}"}`)
      const answers = [await service().get("/runs/1"), await service().get("/runs/1/allow-token")]
      await writeStoredBundle(db, 1, bundle)
      for (const answer of answers) {
        const error = expectRefused(answer, 500)
        const [id = "none"] = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(error) ?? []
        const lines = service().logLines.filter(line => line.includes(id))
        expect(lines.map(line => JSON.parse(line))).toEqual([
          expect.objectContaining({ method: "GET", route: expect.stringMatching(/^\/runs\/:id/) }),
        ])
        expect(lines.join()).not.toContain("/runs/1")
        expect(error).not.toMatch(/at |\.ts|unreadable/)
      }
    })
  })
})
