/** Two services as two processes would be: each with a database handle of its own, on one database and one set of keys. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { JsonObject } from "@runseal/canonical"
import { afterAll, afterEach, beforeAll } from "vitest"
import type { Config } from "../../src/options/config.ts"
import { openDatabase } from "../../src/store/driver/database.ts"
import { newPostgresUrl } from "../database/databases.ts"
import { checkHouse, checkNewRows } from "./check-house.ts"
import { testClock } from "./clock.ts"
import { openService, type TestService } from "./test-service.ts"

export type Twins = readonly [TestService, TestService]

/** Twin services on a new PostgreSQL database, with settings made when they open. After each test what is new is checked from both, after the last one everything. */
export function standingTwins(
  settings: Partial<Config> | (() => Partial<Config>) = {},
  policy?: JsonObject,
): () => Twins {
  const keysDir = mkdtempSync(join(tmpdir(), "runseal-twins-"))
  let twins: Twins | undefined
  const standing = (): Twins => {
    if (twins === undefined) throw new Error("the services stand during tests only")
    return twins
  }
  beforeAll(async () => {
    const url = await newPostgresUrl()
    const clock = testClock()
    const config = typeof settings === "function" ? settings() : settings
    const open = () =>
      openService({
        open: () => openDatabase({ kind: "postgres", url }),
        keysDir,
        clock,
        config,
        ...(policy && { policy }),
      })
    twins = await Promise.all([open(), open()])
  })
  afterEach(async () => {
    for (const service of standing()) await checkNewRows(service)
  })
  afterAll(async () => {
    try {
      for (const service of twins ?? []) await checkHouse(service)
    } finally {
      await Promise.all(twins?.map(service => service.close()) ?? [])
    }
    rmSync(keysDir, { recursive: true, force: true })
  })
  return standing
}
