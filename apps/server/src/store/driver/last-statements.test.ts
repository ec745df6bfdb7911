/** A transaction whose last statements are sent together with its COMMIT: they are committed with the rest, or nothing is. */
import { afterEach, beforeAll, expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import type { Database } from "./database.ts"
import type { Tx } from "./session.ts"

bothDatabases("last statements that are sent together with COMMIT", open => {
  let db: Database
  beforeAll(async () => {
    db = await open()
    await db.sql`create table scratch (a bigint primary key, b text)`
  })

  const last = (
    send: (tx: Tx) => readonly PromiseLike<unknown>[],
    work: (tx: Tx) => Promise<unknown> = async () => {},
  ) =>
    db.transactionFrom(
      async () => undefined,
      async (tx, _, sendLast) => {
        await tx.sql`insert into scratch values (45, 'work')`
        await work(tx)
        return sendLast(() => send(tx))
      },
    )
  const stored = async (): Promise<readonly unknown[]> => db.sql`select b from scratch where a between 45 and 46`
  afterEach(async () => {
    await db.sql`delete from scratch where a between 45 and 46`
  })

  test("are committed with the rest, and their answers are given", async () => {
    expect(await last(({ sql }) => [sql`insert into scratch values (46, 'last') returning b`])).toMatchObject([
      [{ b: "last" }],
    ])
    expect(await stored()).toHaveLength(2)
  })

  test("are undone with the rest when one of them fails, and what it failed with is thrown", async () => {
    const failing = last(({ sql }) => [sql`insert into scratch values (46, 'last')`, sql`select 1 / 0`, sql`select 1`])
    await expect(failing).rejects.toMatchObject({ sqlstate: "22012" })
    expect(await stored()).toEqual([])
  })

  test("are undone when one of them cannot be sent", async () => {
    const unsent = async (): Promise<void> => {
      throw new TypeError("not sent")
    }
    const failing = last(({ sql }) => [sql`insert into scratch values (46, 'last')`, unsent()])
    await expect(failing).rejects.toThrow("not sent")
    const thrown = last(({ sql }) => {
      void sql`insert into scratch values (46, 'last')`.then(() => {})
      throw new TypeError("not sent")
    })
    await expect(thrown).rejects.toThrow("not sent")
    expect(await stored()).toEqual([])
  })

  test("leave the outcome open where their answers are refused: they were committed by then", async () => {
    const refused = last(({ sql }) => [
      sql`insert into scratch values (46, 'last')`.then(() => {
        throw new Error("not what was expected")
      }),
    ])
    await expect(refused).rejects.toMatchObject({ code: "outcome_unknown" })
  })

  test("are all that is sent: a later one is refused, and never a transaction of its own", async () => {
    const late = last(tx => [tx.sql`select 1`.then(() => tx.sql`insert into scratch values (46, 'late')`)])
    await expect(late).rejects.toMatchObject({ code: "outcome_unknown" })
    expect(await stored()).toEqual([{ b: "work" }])
  })

  test("that the server does not know any more are refused, and never sent again behind COMMIT", async () => {
    const other = await open()
    await other.sql`create table forgotten (a bigint)`
    const insert = (forget: string) =>
      other.transactionFrom(
        async () => undefined,
        async ({ sql }, _, sendLast) => {
          await sql.unsafe(forget)
          return sendLast(() => [sql.unsafe("insert into forgotten values ($1)", [1], { prepare: true })])
        },
      )
    await insert("select 1")
    await expect(insert("deallocate all")).rejects.toMatchObject({ sqlstate: "26000" })
    expect(await other.sql`select a from forgotten`).toHaveLength(1)
    await other.close()
  })
})
