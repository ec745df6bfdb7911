/** Who may make a key, as the statement that stores it decides. docs/api.md, "Keys". */
import { beforeAll, expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import { mintKey } from "../../http/access/api-key.ts"
import type { Database } from "../driver/database.ts"
import { listKeys } from "./api-keys.ts"

bothDatabases("API keys", open => {
  let db: Database
  beforeAll(async () => {
    db = await open()
  })

  test("only the first key is made without a key, of any number that are asked for at once", async () => {
    const make = async (name: string): Promise<number | undefined> =>
      (
        await mintKey(
          db,
          { name, scope: "admin" },
          { kind: "anonymous" },
          { at: Date.UTC(2026, 4, 4, 12), keyPrefix: undefined },
        )
      )?.id
    const ids = await Promise.all(["a", "b", "c"].map(make))
    expect(ids.filter(id => id !== undefined)).toEqual([1])
    expect(await make("d"), "nor later").toBeUndefined()
    expect((await listKeys(db)).map(({ key_id }) => key_id)).toEqual([1])
    expect(await db.sql`select subject_id from admin_event`, "what was not made has no event").toEqual([
      { subject_id: "1" },
    ])
  })
})
