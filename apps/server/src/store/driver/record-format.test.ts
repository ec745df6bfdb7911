/** A database whose records have another format is refused, before its schema is changed. Decision 0145. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import {
  newPostgresUrl,
  poolerIsAbsent,
  poolerTitle,
  postgresStart,
  postgresTitle,
  throughPooler,
  unmigratedPostgresUrl,
} from "../../../spec/database/databases.ts"
import { StartupError } from "../../options/startup-error.ts"
import { pinDeployment } from "../tables/deployment-table.ts"
import { createConnectionPool } from "./connection-pool.ts"
import { type Database, openDatabase } from "./database.ts"
import { knownMigrations, RECORD_FORMAT } from "./migrate.ts"
import { serverClient } from "./postgres-client.ts"

const facts = {
  origin: "log.example - 1",
  tree_id: "1",
  service_key_id: "a".repeat(64),
  log_key_id: "b".repeat(64),
  checkpoint_key_id: "c".repeat(64),
  genesis_at: 5,
}

type Open = () => Promise<Database>

/** Makes a deployment of this format and opens its database again. */
async function openedAgain(open: Open, record_format: string): Promise<Database> {
  const made = await open()
  await made.transaction(tx => pinDeployment(tx, { ...facts, record_format }))
  await made.close()
  return open()
}

const REFUSED =
  "The records in this database have another format than this release reads: start the release that made them, or give this one a new data folder or database."

test("a data folder of another format is refused", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "runseal-format-"))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const refused = openedAgain(() => openDatabase({ kind: "pglite", dataDir }), "vfa.audit_bundle.v0")
  await expect(refused).rejects.toThrow(REFUSED)
})

test.skipIf(poolerIsAbsent)(`a database of another format is refused ${poolerTitle}`, async () => {
  const url = throughPooler(await newPostgresUrl())
  const refused = openedAgain(
    () => openDatabase({ kind: "postgres", url, pooling: "transaction" }),
    "vfa.audit_bundle.v0",
  )
  await expect(refused).rejects.toThrow(REFUSED)
})

describe.skipIf(postgresStart.kind === "absent")(`a PostgreSQL database ${postgresTitle}`, () => {
  const onServer = (url: string) => () => openDatabase({ kind: "postgres", url })

  test("of this release's format is opened", async () => {
    const db = await openedAgain(onServer(await newPostgresUrl()), RECORD_FORMAT)
    await db.close()
  })

  test.each(["vfa.audit_bundle.v0", ""])("of the format %j is refused", async format => {
    const refused = openedAgain(onServer(await newPostgresUrl()), format)
    await expect(refused).rejects.toBeInstanceOf(StartupError)
    await expect(refused).rejects.toThrow(REFUSED)
  })

  /** A database as an older release left it: with the first migrations, and these statements. */
  async function madeBy(migrations: number, ...statements: readonly string[]) {
    const url = await unmigratedPostgresUrl()
    const pool = createConnectionPool(1, serverClient(url))
    const steps = knownMigrations().slice(0, migrations)
    const made = steps.flatMap(({ sql, hash }, at) => [...sql, `insert into migration values (${at}, '${hash}')`])
    await pool.lease(async ({ client }) => {
      await client.unsafe("create table migration (step bigint primary key, hash text not null)")
      for (const statement of [...made, ...statements]) await client.unsafe(statement)
    })
    return { url, pool }
  }

  const FACTS = "origin, tree_id, service_key_id, log_key_id, checkpoint_key_id, genesis_at"

  test("of a release before there was this mark is refused, and its schema stays as it was", async () => {
    const mark = knownMigrations().findIndex(({ sql }) => sql.join().includes("record_format"))
    const deployment = `insert into deployment (${FACTS}) values ('o', '1', 'a', 'b', 'c', 5)`
    const { url, pool } = await madeBy(mark, deployment)
    await expect(openDatabase({ kind: "postgres", url })).rejects.toThrow(REFUSED)
    const [found] = await pool.lease(
      ({ client }) => client<{ last: number }[]>`select max(step) as last from migration`,
    )
    expect(found?.last).toBe(mark - 1)
    await pool.close()
  })

  test("of another format is refused by its mark, not because a migration does not suit its rows", async () => {
    const before = knownMigrations().findIndex(({ sql }) => sql.join().includes("run_count"))
    const { url, pool } = await madeBy(
      before,
      `insert into deployment (${FACTS}, record_format) values ('o', '1', 'a', 'b', 'c', 5, 'vfa.audit_bundle.v2 2026-11-23')`,
      "insert into tenant (tenant_id, owner, salt, record_count, head) values ('t', 0, 's', 1, 'h')",
    )
    await expect(openDatabase({ kind: "postgres", url })).rejects.toThrow(REFUSED)
    await pool.close()
  })
})
