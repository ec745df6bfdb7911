import { expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import { pinDeployment, readDeployment } from "./deployment-table.ts"

const facts = (mark: string, genesis_at: number) => ({
  origin: `log.example - ${mark}`,
  tree_id: mark,
  service_key_id: mark.repeat(64),
  log_key_id: "b".repeat(64),
  checkpoint_key_id: "c".repeat(64),
  genesis_at,
  record_format: "format",
})

bothDatabases("the deployment", open => {
  test("is unknown before the first start, then what the first start wrote", async () => {
    const db = await open()
    expect(await readDeployment(db)).toBeUndefined()
    expect(await db.transaction(tx => pinDeployment(tx, facts("1", 5)))).toEqual(facts("1", 5))
    expect(await db.transaction(tx => pinDeployment(tx, facts("2", 6)))).toEqual(facts("1", 5))
    expect(await readDeployment(db)).toEqual(facts("1", 5))
  })

  test("is the same for two first starts at once", async () => {
    const db = await open()
    const both = await Promise.all(["3", "4"].map(mark => db.transaction(tx => pinDeployment(tx, facts(mark, 7)))))
    expect(both[0]).toEqual(both[1])
  })
})
