/** Look-ups by the statement: few, bounded, and none that outlives the facts. */
import { pino } from "pino"
import { beforeAll, describe, expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import type { Database } from "../../store/driver/database.ts"
import { StoreError } from "../../store/driver/store-errors.ts"
import { revokeKey } from "../../store/tables/changed-keys.ts"
import { createTelemetry } from "../../telemetry.ts"
import { mintKey, secretHash } from "./api-key.ts"
import { type KeyDirectory, MAX_LOOKUPS_PER_STATEMENT, MAX_WAITING_LOOKUPS, openKeyDirectory } from "./key-directory.ts"

/** Noon of a day: never used is long ago. */
const NOW = Date.UTC(2026, 4, 4, 12)
const UNKNOWN = `rsk_${"0".repeat(48)}`

bothDatabases("the key directory", open => {
  /** The database, counting statements by themselves, and failing on demand. */
  let db: Database
  let reads = 0
  /** Statements that still succeed. */
  let good = Number.POSITIVE_INFINITY
  beforeAll(async () => {
    const real = await open()
    const whileGood = <T>(work: () => Promise<T>): Promise<T> => {
      reads++
      return good-- > 0 ? work() : Promise.reject(new StoreError("unavailable"))
    }
    db = {
      ...real,
      quick: { read: work => whileGood(() => real.quick.read(work)) },
      write: statement => whileGood(() => real.write(statement)),
    }
  })

  const lines: string[] = []
  const logger = pino({}, { write: line => void lines.push(line) })
  const telemetry = createTelemetry({ logger, nowMs: () => NOW })
  const directory = (): KeyDirectory => openKeyDirectory({ db, nowMs: () => NOW, telemetry })
  const counted = async <T>(work: () => Promise<T>): Promise<readonly [T, number]> => {
    reads = 0
    return [await work(), reads]
  }
  const key = async (name: string) => {
    const minted = await mintKey(db, { name, scope: "admin" }, { kind: "operator" }, { at: NOW, keyPrefix: undefined })
    if (minted === undefined) throw new Error("the operator always may")
    return minted
  }

  test("in open mode asks each time whether there is a key, once for all who wait", async () => {
    const { admit } = directory()
    for (let time = 0; time < 2; time++) {
      const [callers, asked] = await counted(() => Promise.all(Array.from({ length: 100 }, () => admit(undefined))))
      expect(new Set(callers.map(admitted => admitted !== "nobody" && admitted.caller.scope))).toEqual(
        new Set(["anonymous"]),
      )
      expect(asked).toBe(1)
    }
  })

  describe("in locked mode", () => {
    test("knows who is who of all that wait, in one statement", async () => {
      const keys = [await key("a"), await key("b"), await key("c")]
      const { admit, usesNoted } = directory()
      const asked = Array.from({ length: MAX_LOOKUPS_PER_STATEMENT }, (_, i) => keys[i % 3]!)
      const work = async () => {
        const callers = await Promise.all(asked.map(({ secret }) => admit(secret)))
        await usesNoted()
        return callers
      }
      const [callers, statements] = await counted(work)
      expect(callers.map(admitted => admitted !== "nobody" && admitted.caller.api_key_id)).toEqual(
        asked.map(({ id }) => id),
      )
      expect(statements, "whether it is locked, the keys, their last use").toBe(3)
    })

    test("asks nobody about what is spelt unlike any secret", async () => {
      const { admit } = directory()
      expect(await admit(undefined)).toBe("nobody")
      const [callers, statements] = await counted(() =>
        Promise.all([undefined, "", "rsk_1", `${UNKNOWN}0`].map(secret => admit(secret))),
      )
      expect([new Set(callers), statements]).toEqual([new Set(["nobody"]), 0])
    })

    test("takes so many that wait and no more", async () => {
      const { admit } = directory()
      const asked = Array.from({ length: MAX_WAITING_LOOKUPS + 1 }, () => admit(UNKNOWN))
      await expect(asked.at(-1)).rejects.toMatchObject({ code: "unavailable" })
      expect(new Set(await Promise.all(asked.slice(0, -1)))).toEqual(new Set(["nobody"]))
    })

    test("admits nobody while the database is out of reach, and goes on afterwards", async () => {
      const { id, secret } = await key("d")
      const { admit } = directory()
      good = 0
      await expect(admit(secret)).rejects.toBeInstanceOf(StoreError)
      await expect(admit(undefined)).rejects.toBeInstanceOf(StoreError)
      good = Number.POSITIVE_INFINITY
      expect(await admit(secret)).toMatchObject({ caller: { api_key_id: id } })
    })

    test("a use that cannot be noted fails no request and is told to the log without the secret", async () => {
      const { id, secret } = await key("e")
      const { admit, close } = directory()
      // Whether it is locked, and the key; then nothing.
      good = 2
      expect(await admit(secret)).toMatchObject({ caller: { api_key_id: id } })
      await close()
      good = Number.POSITIVE_INFINITY
      const log = lines.join("\n")
      expect(log).toContain("the last use of a key was not noted")
      expect(log).not.toContain(secret)
      expect(log).not.toContain(secretHash(secret))
    })

    test("counts what comes for a limit, each request in its turn, where processes share a database", async () => {
      const [one, other, gone] = [await key("one"), await key("other"), await key("gone")]
      await revokeKey(db, { who: { actor: `api-key-${one.id}`, name: one.name }, key_id: gone.id, at: NOW })
      const { admit, close } = directory()
      const secrets = [one, other, one, gone, one].map(({ secret }) => secret)
      const admitted = await Promise.all([
        ...secrets.map(secret => admit(secret, "shared")),
        admit(one.secret, "attest"),
        admit(UNKNOWN, "shared"),
        admit(undefined, "shared"),
        admit(one.secret),
      ])
      const again = await admit(one.secret, "shared")
      await close()
      const places = [...admitted, again].map(admission =>
        admission === "nobody" ? admission : (admission.counted?.place ?? "uncounted"),
      )
      const isShared = db.kind === "postgres"
      const counted = [1, 1, 2, "nobody", 3, 1, "nobody", "nobody", "uncounted", 4]
      expect(places).toEqual(isShared ? counted : counted.map(place => (place === "nobody" ? place : "uncounted")))
      const windows = await db.sql`select bucket, requests from request_window order by bucket`
      const expected = [
        { bucket: `key:${one.id}:attest`, requests: 1 },
        { bucket: `key:${one.id}:shared`, requests: 4 },
        { bucket: `key:${other.id}:shared`, requests: 1 },
      ]
      expect(windows).toEqual(isShared ? expected : [])
    })

    test("admits nobody once it is closed", async () => {
      const { secret } = await key("f")
      const { admit, close } = directory()
      await close()
      await expect(admit(secret)).rejects.toMatchObject({ code: "unavailable" })
    })
  })
})
