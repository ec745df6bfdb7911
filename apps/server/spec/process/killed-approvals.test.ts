/** kill -9 after each step of an approval: what was answered is still there, and the request ends once. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { APPROVAL_POLICY, approvalOf, approver, collect, decide, transferOf } from "../harness/approving-people.ts"
import { type Child, startChild } from "../harness/child.ts"
import { ADMIN, CUSTOMER, type Holder, heldAt, mint } from "../harness/key-holders.ts"
import { textAt } from "../harness/read-answer.ts"

const folder = mkdtempSync(join(tmpdir(), "runseal-killed-approvals-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
writeFileSync(join(folder, "policy.json"), JSON.stringify(APPROVAL_POLICY))
const OPTIONS = ["--data-dir", join(folder, "data"), "--policy", join(folder, "policy.json"), "--approvals", "on"]

const target = ({ url }: Child) => ({
  request: (path: string, init?: RequestInit): Promise<Response> => fetch(url + path, init),
})

test("is asked for, decided, collected and closed over six processes, each killed", async () => {
  let child = await startChild(OPTIONS)
  const killed = async (): Promise<void> => {
    await child.end("SIGKILL")
    child = await startChild(OPTIONS)
  }
  const at = (holder: Holder): Holder => heldAt(target(child), holder)
  try {
    const admin = await mint(target(child), ADMIN)
    const asker = await mint(target(child), CUSTOMER, admin)
    const anna = await approver(target(child), admin, "anna", ["treasury"])
    const ben = await approver(target(child), admin, "ben", ["finance"])
    const body = transferOf(12_500)
    const id = approvalOf(await asker.post("/permits", body))
    await killed()
    expect(approvalOf(await at(asker).post("/permits", body))).toBe(id)
    expect((await decide(at(anna), id, "approve")).status).toBe(200)
    await killed()
    expect((await collect(at(asker), id)).status).toBe(202)
    expect((await decide(at(ben), id, "approve")).status).toBe(200)
    await killed()
    // The answer of a collection is lost with the process.
    const lost = collect(at(asker), id).catch(() => undefined)
    await Promise.all([lost, killed()])
    const collected = await collect(at(asker), id)
    expect(collected.status).toBe(201)
    const permit = textAt(collected.body, "permit_id")
    await killed()
    expect(textAt((await collect(at(asker), id)).body, "permit_id")).toBe(permit)
    const rejected = approvalOf(await at(asker).post("/permits", transferOf(12_500)))
    expect((await decide(at(anna), rejected, "reject")).status).toBe(200)
    await killed()
    expect((await collect(at(asker), rejected)).status).toBe(422)
    expect((await at(asker).post(`/permits/${permit}/close`, { outcome: "completed" })).status).toBe(200)
  } finally {
    await child.end("SIGTERM")
  }
})
