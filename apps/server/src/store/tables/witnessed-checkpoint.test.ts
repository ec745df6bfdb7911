import { expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import { keepWitnessed, readWitnessed } from "./witnessed-checkpoint.ts"

bothDatabases("the witnessed checkpoint", open => {
  test("is the last that was stored, and never one of a smaller tree", async () => {
    const db = await open()
    expect(await readWitnessed(db)).toBeUndefined()
    await keepWitnessed(db, { size: 7, checkpoint: "seven" })
    await keepWitnessed(db, { size: 5, checkpoint: "five" })
    expect(await readWitnessed(db)).toEqual({ size: 7, checkpoint: "seven" })
    await keepWitnessed(db, { size: 7, checkpoint: "seven, cosigned again" })
    expect(await readWitnessed(db)).toEqual({ size: 7, checkpoint: "seven, cosigned again" })
    await keepWitnessed(db, { size: 9, checkpoint: "nine" })
    expect(await readWitnessed(db)).toEqual({ size: 9, checkpoint: "nine" })
  })
})
