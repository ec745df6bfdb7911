/**
 * The simulated database does what the real ones do, for every function of the store that a simulation uses: the same
 * operations give the same answers and leave the same rows, and an operation that waits for a lock there waits here.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type Database, openDatabase } from "@runseal/server/store/driver/database"
import type { Tx } from "@runseal/server/store/driver/session"
import { StoreError } from "@runseal/server/store/driver/store-errors"
import { attestation, countAttestations, insertAttestations } from "@runseal/server/store/tables/attestations-table"
import { packBundle } from "@runseal/server/store/tables/bundle-text"
import { deployment, pinDeployment, readDeployment } from "@runseal/server/store/tables/deployment-table"
import { document, insertDocuments } from "@runseal/server/store/tables/documents-table"
import {
  findIdempotencyKeys,
  idempotency_key,
  lockKeys,
  updateKeys,
} from "@runseal/server/store/tables/idempotency-keys"
import {
  appendEntries,
  loadFrontier,
  lockHead,
  log_entry,
  log_head,
  readEntries,
  readHead,
} from "@runseal/server/store/tables/log-store"
import {
  countPermits,
  findDuePermits,
  findHeldPermit,
  insertPermits,
  lockPermits,
  permit,
  redeemPermits,
  settlePermits,
} from "@runseal/server/store/tables/permits-table"
import { countOutcomes, insertRuns, outcome_count, run } from "@runseal/server/store/tables/runs-table"
import { chargeWindows, tenant_window, token_movement } from "@runseal/server/store/tables/tenant-windows"
import { lockTenants, tenant, updateTenants } from "@runseal/server/store/tables/tenants"
import { getTableName } from "drizzle-orm"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  bothDatabases,
  newPostgresUrl,
  postgresStart,
  postgresTitle,
} from "../../../apps/server/spec/database/databases.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { openLive } from "./database/live.ts"

const HASH = Buffer.alloc(32, 7)
const CLOCK_MS = 1_777_896_000_000
const hex = (text: string): string => Buffer.from(text).toString("hex").padEnd(64, "0")

/** One call of the store, made of small numbers. */
type Step = { readonly kind: keyof typeof STEPS; readonly a: number; readonly b: number; readonly fails: boolean }

const claim = (n: number) => ({ key_hash: hex(`key ${n}`), request_digest: hex(`request ${n}`) })
const ofTenant = (n: number) => ({ tenant_id: `tenant ${"cab"[n % 3]}`, owner: n % 3, salt: hex(`salt ${n}`) })

/** SQL promises no order here. */
const byHash = <Keyed extends { readonly key_hash: string }>(keys: readonly Keyed[]): readonly Keyed[] =>
  keys.toSorted((one, other) => (one.key_hash < other.key_hash ? -1 : 1))

/** What a transaction does, by kind; the answer is compared. */
const STEPS = {
  pin: async (tx: Tx, a: number) => {
    const key_id = hex(`${a}`)
    const facts = { origin: `log ${a}`, tree_id: `${a}`, genesis_at: a, record_format: "format" }
    return pinDeployment(tx, { ...facts, service_key_id: key_id, log_key_id: key_id, checkpoint_key_id: key_id })
  },
  append: async (tx: Tx, a: number, b: number) => {
    const head = await lockHead(tx)
    const entries = Array.from({ length: a }, (_, i) => ({
      log_index: head.size + i,
      body: `${head.size + i}`,
      integrated_time: head.log_time + b,
    }))
    // Some go back in time or do not begin where the log ends, and are refused.
    const log_time = head.log_time + (b === 3 ? -1 : b)
    await appendEntries(tx, { entries, tiles: [], head: { ...head, size: head.size + a, root: HASH, log_time } })
    return head
  },
  frontier: async (tx: Tx) => loadFrontier(tx, await readHead(tx)),
  entries: async (tx: Tx, a: number, b: number) => readEntries(tx, a, a + b),
  tenants: async (tx: Tx, a: number, b: number) => {
    const locked = await lockTenants(tx, a % 3 === b % 3 ? [ofTenant(a)] : [ofTenant(a), ofTenant(b)])
    await updateTenants(
      tx,
      [...locked.values()].map(row => ({
        ...row,
        record_count: row.record_count + 1,
        run_count: row.run_count + 1,
        head: hex(`head ${a}`),
      })),
    )
    return [...locked.values()]
  },
  unknown_tenant: async (tx: Tx, a: number) =>
    updateTenants(tx, [{ tenant_id: `nobody ${a}`, record_count: 1, run_count: 1, head: hex("") }]),
  run: async (tx: Tx, a: number, b: number) =>
    insertRuns(tx, [
      {
        run_id: a,
        owner: b,
        owner_ordinal: a,
        log_index: a,
        refusal: "",
        permit_id: "",
        closing_outcome: "",
        created_at: CLOCK_MS,
        outcome_kind: "ok",
        error_stage: "",
        program_id: "p",
        route_id: "r",
        manifest_hash: hex("m"),
        enforcement: "",
        execution_region: "eu",
        duration_us: b,
        findings: "",
        disclosure_seed: HASH,
      },
    ]),
  outcomes: async (tx: Tx, a: number, b: number) =>
    countOutcomes(tx, [
      { owner: a, outcome_kind: "ok" },
      { owner: b, outcome_kind: "stage_error" },
      { owner: a, outcome_kind: "ok" },
    ]),
  permits: async (tx: Tx, a: number, b: number) => {
    const counted = await countPermits(tx, [a, b])
    const owner_ordinal = (counted.get(a)?.permits ?? 0) + 1
    await insertPermits(tx, [
      {
        permit_id: `permit ${a} ${owner_ordinal}`,
        owner: a,
        owner_ordinal,
        state: "open",
        program_id: "p",
        route_id: "r",
        audience: "acts.example",
        charge_id: `charge of permit ${a} ${owner_ordinal}`,
        window_seconds: 86_400,
        window_start: 0,
        cap: 1000,
        reserved: b,
        opened_at: b,
        expires_at: b + 2,
        close_by: b + 3,
        due_at: b + 3,
        redeem_required: b > 1,
        redeemed_at: 0,
        redemption_entry: "",
        redemption_unknown: false,
        run_id: 0,
        end_ordinal: 0,
        log_index: 10 * a + owner_ordinal,
        opening_hash: hex("o"),
        disclosure_seed: HASH,
      },
    ])
    return [...counted]
  },
  settle: async (tx: Tx, a: number, b: number) => {
    const permit_id = `permit ${a} 1`
    const locked = await lockPermits(tx, [permit_id, `permit ${b} 1`])
    const found = locked.get(permit_id)
    if (found?.state !== "open") return [...locked]
    await redeemPermits(tx, [{ permit_id, redeemed_at: b, redemption_entry: `{"redeemed":${b}}` }])
    await settlePermits(tx, [
      b > 1
        ? { permit_id, state: "ended", run_id: 0, end_ordinal: b + 1 }
        : { permit_id, state: "closed", run_id: b + 1, end_ordinal: 0 },
    ])
    return [...locked]
  },
  attest: async (tx: Tx, a: number, b: number) => {
    const counted = await countAttestations(tx, [a, b])
    const owner_ordinal = (counted.get(a) ?? 0) + 1
    const row = { attestation_id: `att ${a} ${b}`, owner: a, owner_ordinal, created_at: CLOCK_MS, digest: hex("d") }
    await insertAttestations(tx, [{ ...row, log_index: b }])
    return [...counted]
  },
  // The openings of permits, and documents that end them.
  documents: async (tx: Tx, a: number, b: number) =>
    insertDocuments(tx, [
      {
        log_index: 10 * a + b,
        owner: a,
        chain_ordinal: b + 1,
        kind: b > 1 ? "end" : "opening",
        instant: CLOCK_MS,
        leaf_digest: hex("l"),
        packed: packBundle(Buffer.from(`{"document":${a}}`)),
      },
    ]),
  keys: async (tx: Tx, a: number, b: number) => {
    const locked = await lockKeys(tx, [claim(a), claim(b)], CLOCK_MS + a)
    await updateKeys(tx, [{ ...claim(a), charge_id: `charge ${b}`, record_id: `${a}`, kept_at: CLOCK_MS }])
    return byHash([...locked.values()])
  },
} as const

const NO_TRANSACTION = {
  charge: async (db: Database, a: number, b: number, at: number) =>
    chargeWindows(
      db,
      [a, b, a].map((n, i) => ({
        charge_id: `charge ${at} ${b === 3 ? 0 : i}`,
        tenant_id: `tenant ${"cab"[n % 3]}`,
        window_seconds: 86_400,
        window_start: 0,
        // Some fill their window, and what comes after is refused.
        tokens: b === 2 && i === 1 ? Number.MAX_SAFE_INTEGER - 6 : b,
        charged_at: CLOCK_MS,
        claim: i === 0 && a % 2 === 1 ? claim(10 + a) : undefined,
      })),
    ),
  find: async (db: Database, a: number, b: number) =>
    byHash(await findIdempotencyKeys(db, [claim(a).key_hash, claim(10 + b).key_hash])),
  held: async (db: Database, a: number) => (await findHeldPermit(db, `permit ${a} 1`)) ?? "none",
  // Without an order among those that are due at one instant, and for tenants that other steps made.
  due: async (db: Database, a: number) => (await findDuePermits(db, a, 9)).map(({ permit_id }) => permit_id).toSorted(),
  deployment: async (db: Database) => (await readDeployment(db)) ?? "none",
} as const

const TABLES = [
  deployment,
  log_head,
  log_entry,
  run,
  outcome_count,
  permit,
  document,
  tenant,
  tenant_window,
  token_movement,
  attestation,
  idempotency_key,
]

/** A store error by what it says of the data, and anything else as it is. */
async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    return (await work) ?? "done"
  } catch (error) {
    if (error instanceof StoreError) return `StoreError ${error.code} ${error.sqlstate ?? ""}`
    if (error instanceof Error && error.message === "given up") return error.message
    throw error
  }
}

const perform = (db: Database, { kind, a, b, fails }: Step): Promise<unknown> =>
  outcomeOf(
    db.transaction(async tx => {
      const answer = await STEPS[kind](tx, a, b)
      if (fails) throw new Error("given up")
      return answer
    }),
  )

/** Everything stored, by table and in the order of the key. */
async function rowsOf(db: Database): Promise<unknown> {
  const tables = TABLES.map(async table => {
    const name = getTableName(table)
    const rows = await db.sql<Record<string, unknown>[]>(Object.assign([`select * from ${name}`], { raw: [] }))
    return [name, rows.map(row => JSON.stringify(row, Object.keys(row).sort())).sort()]
  })
  return Promise.all(tables)
}

const small = fc.integer({ min: 0, max: 3 })
const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constantFrom(...(Object.keys(STEPS) as (keyof typeof STEPS)[])),
      a: small,
      b: small,
      fails: fc.constantFrom(false, false, false, true),
    }),
    fc.record({
      alone: fc.constantFrom(...(Object.keys(NO_TRANSACTION) as (keyof typeof NO_TRANSACTION)[])),
      a: small,
      b: small,
    }),
  ),
  { minLength: 5, maxLength: 25 },
)

/** A real database as the migrations left it. */
async function empty(db: Database): Promise<void> {
  const text = `truncate ${TABLES.filter(table => table !== log_head)
    .map(getTableName)
    .join(", ")}`
  await db.sql(Object.assign([text], { raw: [] }))
  await db.sql`update log_head set size = 0, root = sha256(''), log_time = 0, next_run_id = 1, checkpoint = '', epoch = 0`
}

bothDatabases("the simulated database and a real one", open => {
  test("give the same answers to the same calls, and keep the same rows", async () => {
    const real = await open()
    await fc.assert(
      fc.asyncProperty(steps, async plan => {
        const simulated = openLive(1)
        await empty(real)
        expect(await rowsOf(simulated)).toEqual(await rowsOf(real))
        for (const [at, step] of plan.entries()) {
          const on = (db: Database): Promise<unknown> =>
            "alone" in step ? outcomeOf(NO_TRANSACTION[step.alone](db, step.a, step.b, at)) : perform(db, step)
          expect(await on(simulated), JSON.stringify(step)).toEqual(await on(real))
        }
        expect(await rowsOf(simulated)).toEqual(await rowsOf(real))
        await simulated.close()
      }),
      { numRuns: 40 },
    )
  })
})

/** Long enough for a real database to do what it can, in milliseconds. */
const PAUSE_MS = 300

/** Something that others wait for. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { opened, open }
}

function waiting(name: string, open: () => Promise<Database>): void {
  describe(`who waits for whom ${name}`, () => {
    let db: Database
    beforeAll(async () => {
      db = await open()
    })
    afterAll(() => db.close())

    /**
     * Runs `second` while a transaction that has done `first` is open, which then commits or gives up. What need not wait is awaited
     * before that; of what must wait it is seen, after a pause, that it has not ended.
     */
    const beside = async <T>(
      first: (tx: Tx) => Promise<unknown>,
      second: () => Promise<T>,
      gives: "up" | "in",
      waits = true,
    ): Promise<{ readonly waited: boolean; readonly second: T }> => {
      const [opened, end] = [gate(), gate()]
      const held = outcomeOf(
        db.transaction(async tx => {
          await first(tx)
          opened.open()
          await end.opened
          if (gives === "up") throw new Error("given up")
        }),
      )
      await opened.opened
      let done = false
      const other = second().finally(() => {
        done = true
      })
      await (waits ? sleep(PAUSE_MS) : until("the second transaction ends without the first", () => done))
      const waited = !done
      end.open()
      await held
      return { waited, second: await other }
    }

    test("the head goes to one transaction at a time, and the next one sees it moved", async () => {
      const size = (await readHead(db)).size
      const append = (tx: Tx): Promise<unknown> => STEPS.append(tx, 2, 1)
      const seen = await beside(append, () => db.transaction(async tx => (await lockHead(tx)).size), "in")
      expect(seen).toEqual({ waited: true, second: size + 2 })
      const unmoved = await beside(append, () => db.transaction(async tx => (await lockHead(tx)).size), "up")
      expect(unmoved).toEqual({ waited: true, second: size + 2 })
    })

    test("a reader does not wait, and sees what is committed", async () => {
      const before = await readHead(db)
      expect(
        await beside(
          tx => STEPS.append(tx, 1, 1),
          () => readHead(db),
          "in",
          false,
        ),
      ).toEqual({ waited: false, second: before })
    })

    test("a tenant that another transaction makes is waited for: its row is taken over, or made when it gave up", async () => {
      const made = (owner: number, salt: string) => [{ tenant_id: `new ${owner}`, owner, salt: hex(salt) }]
      const saltOf = (owner: number, salt: string) => () =>
        db.transaction(async tx => (await lockTenants(tx, made(owner, salt))).get(`new ${owner}`)?.salt)
      const locked = await beside(tx => lockTenants(tx, made(11, "first")), saltOf(11, "second"), "in")
      expect(locked).toEqual({ waited: true, second: hex("first") })
      const gone = await beside(tx => lockTenants(tx, made(12, "first")), saltOf(12, "second"), "up")
      expect(gone).toEqual({ waited: true, second: hex("second") })
    })

    test("charges of one window follow each other; those of another do not wait", async () => {
      const windowOf = (tenant_id: string) => ({ tenant_id, window_seconds: 60, window_start: 0 })
      const charge = (tenant_id: string, charge_id: string) => () =>
        chargeWindows(db, [{ ...windowOf(tenant_id), charge_id, tokens: 5, charged_at: CLOCK_MS }])
      await charge("budget", "first")()
      const lock = async ({ sql }: Tx): Promise<unknown> =>
        sql`update tenant_window set total = ${7} where tenant_id = ${"budget"}`
      expect(await beside(lock, charge("budget", "second"), "in")).toEqual({
        waited: true,
        second: [{ ok: true, ordinal: 2, total_after: 12 }],
      })
      expect(await beside(lock, charge("other", "third"), "in", false)).toEqual({
        waited: false,
        second: [{ ok: true, ordinal: 1, total_after: 5 }],
      })
    })

    test("a row that another transaction inserts is a conflict if it commits, and none if it gives up", async () => {
      const insert = (id: number) => (tx: Tx) => STEPS.run(tx, id, 0)
      const second = (id: number) => () => outcomeOf(db.transaction(insert(id)))
      expect(await beside(insert(101), second(101), "in")).toEqual({
        waited: true,
        second: "StoreError conflict 23505",
      })
      expect(await beside(insert(102), second(102), "up")).toEqual({ waited: true, second: "done" })
    })

    test("of two transactions that wait for each other one is refused", async () => {
      const lock = (tx: Tx, tenant_id: string): Promise<unknown> =>
        tx.sql`select salt from tenant where tenant_id = ${tenant_id} for update`
      const locked = [gate(), gate()]
      const both = (["new 11", "new 12"] as const).map((first, at, all) =>
        outcomeOf(
          db.transaction(async tx => {
            await lock(tx, first)
            locked[at]?.open()
            await locked[1 - at]?.opened
            await lock(tx, all[1 - at] ?? "")
          }),
        ),
      )
      expect((await Promise.all(both)).sort()).toEqual(["StoreError conflict 40P01", "done"])
    })
  })
}

waiting("in the simulated database", async () => openLive(2))
describe.skipIf(postgresStart.kind === "absent")(postgresTitle, () => {
  waiting(postgresTitle, async () => openDatabase({ kind: "postgres", url: await newPostgresUrl() }))
})
