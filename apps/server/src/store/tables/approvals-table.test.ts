/** Requests for an approval in the store: what ends, what is due, what counts for a limit. */
import { beforeAll, expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import type { Database } from "../driver/database.ts"
import {
  type ApprovalRow,
  approval_decision,
  countWaiting,
  endApprovals,
  findApproval,
  findDueApprovals,
  insertApprovals,
  lockApprovals,
  rejectedSince,
} from "./approvals-table.ts"
import { packBundle } from "./bundle-text.ts"
import { insertDocuments } from "./documents-table.ts"

const approvalId = (number: number): string => `apr-${number.toString(16).padStart(32, "0")}`
const hash = (number: number): string => number.toString(16).padStart(64, "0")

const FAR = 9_000_000_000_000

const request = (number: number, changes: Partial<ApprovalRow> = {}): ApprovalRow => ({
  approval_id: approvalId(number),
  owner: 1,
  tenant_id: "api-key-1",
  log_index: number,
  state: "waiting",
  requested_at: number,
  expires_at: FAR,
  request_hash: hash(number),
  seed: hash(1),
  program_id: hash(2),
  route_id: "payments/transfer",
  audience: "payments.example",
  end_user_subject: "",
  end_user_issuer: "",
  needed: "[]",
  groups: '["treasury"]',
  act_digest: hash(3),
  payload: Uint8Array.of(1, 2, 3),
  payload_key_day: 20_000,
  decisions: 0,
  permit_id: "",
  run_id: 0,
  ended_at: 0,
  ...changes,
})

bothDatabases("requests for an approval", open => {
  let db: Database
  beforeAll(async () => {
    db = await open()
    await db.transaction(async tx => {
      await insertApprovals(tx, [
        request(1),
        request(2, { end_user_subject: "mia" }),
        request(3, { owner: 2, end_user_subject: "mia", state: "rejected" }),
        request(4, { state: "approved", expires_at: 500 }),
        request(5, {
          state: "collected",
          payload: new Uint8Array(0),
          permit_id: "pmt-1",
          ended_at: 600,
          expires_at: 500,
        }),
      ])
      await insertDocuments(tx, [
        {
          log_index: 2,
          owner: 1,
          chain_ordinal: 2,
          kind: "approval_request",
          instant: 2,
          leaf_digest: hash(2),
          packed: packBundle('{"kind":"vfa.approval_request.v1"}'),
        },
      ])
      await tx.orm.insert(approval_decision).values({
        approval_id: approvalId(3),
        subject: "ben",
        issuer: "https://login.example",
        name: "Ben",
        key_name: "",
        groups: '["treasury"]',
        proof: "idp",
        decision: "reject",
        decided_at: 400,
        comment: "not this account",
        comment_hash: hash(8),
        comment_salt: hash(9),
      })
    })
  })

  test("those that are over and have not ended are due; rejected ones at once, the others from their expiry on", async () => {
    const due = async (now: number) => (await findDueApprovals(db, now, 10)).map(({ approval_id }) => approval_id)
    expect(await due(499)).toEqual([approvalId(3)])
    expect(await due(500)).toEqual([approvalId(4), approvalId(3)])
    expect(await findDueApprovals(db, 500, 1)).toEqual([
      { approval_id: approvalId(4), owner: 1, tenant_id: "api-key-1", state: "approved", expires_at: 500 },
    ])
  })

  test("what has not ended counts for its key, and for the end user over all keys", async () => {
    expect(await countWaiting(db, 1, "mia")).toEqual({ key: 3, end_user: 2 })
    expect(await countWaiting(db, 2, "")).toEqual({ key: 1, end_user: 0 })
  })

  test("a request is read with its document and decisions; another id finds nothing", async () => {
    const found = await findApproval(db, approvalId(2))
    expect(found).toMatchObject({ ...request(2, { end_user_subject: "mia" }), payload: expect.anything(), decided: [] })
    expect(found?.request).toBe('{"kind":"vfa.approval_request.v1"}')
    expect(await findApproval(db, approvalId(77))).toBeUndefined()
  })

  test("rejections of the same act are found from their time on", async () => {
    expect((await rejectedSince(db, hash(3), 400)).map(({ comment }) => comment)).toEqual(["not this account"])
    expect(await rejectedSince(db, hash(3), 401)).toEqual([])
    expect(await rejectedSince(db, hash(4), 0)).toEqual([])
  })

  test("the end removes the payload and is written once", async () => {
    await db.transaction(async tx => {
      const locked = await lockApprovals(tx, [approvalId(1), approvalId(3), approvalId(99)])
      expect([...locked.values()]).toEqual([
        { approval_id: approvalId(1), state: "waiting", expires_at: FAR, decisions: 0 },
        { approval_id: approvalId(3), state: "rejected", expires_at: FAR, decisions: 0 },
      ])
      await endApprovals(tx, [
        { approval_id: approvalId(1), state: "collected", permit_id: "pmt-9", run_id: 0, ended_at: 700 },
        { approval_id: approvalId(3), state: "refused", permit_id: "", run_id: 8, ended_at: 700 },
      ])
    })
    const [collected] = await db.sql<ApprovalRow[]>`select * from approval where approval_id = ${approvalId(1)}`
    expect(collected).toMatchObject({ state: "collected", permit_id: "pmt-9", run_id: 0, ended_at: 700 })
    expect(collected?.payload).toHaveLength(0)
    expect(await findDueApprovals(db, 0, 10)).toEqual([])
    expect((await rejectedSince(db, hash(3), 0)).map(({ comment }) => comment)).toEqual(["not this account"])
  })
})
