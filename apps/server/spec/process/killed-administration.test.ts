/** kill -9 between an action and the seal of its event loses none; two processes rotate and revoke as one. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { type Child, startChild } from "../harness/child.ts"
import { ADMIN, CUSTOMER, caller, type Holder, mint } from "../harness/key-holders.ts"
import { listAt, objectAt, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "runseal-admin-"))
  folders.push(folder)
  return folder
}

const target = ({ url }: Child) => ({
  request: (path: string, init?: RequestInit): Promise<Response> => fetch(url + path, init),
})

test("every action that was answered before a kill -9 has a sealed event after the next start", async () => {
  const options = ["--data-dir", join(newFolder(), "data")]
  const first = await startChild(options)
  const admin = await mint(target(first), ADMIN)
  const made = await Promise.all(Array.from({ length: 8 }, () => mint(target(first), CUSTOMER, admin)))
  await first.end("SIGKILL")
  const again = await startChild(options)
  try {
    const events = async () => {
      const { body } = await caller(target(again), admin.secret).get("/admin/audit")
      return listAt(body, "events").map(event => objectAt(event))
    }
    await until("every event is sealed", async () => (await events()).every(event => event.sealed !== undefined))
    const subjects = (await events()).map(event => Number(textAt(objectAt(event.subject ?? {}), "id")))
    expect(subjects.toSorted((a, b) => a - b)).toEqual([admin, ...made].map(({ id }) => id).toSorted((a, b) => a - b))
  } finally {
    await again.end("SIGTERM")
  }
})

describe.skipIf(postgresStart.kind === "absent")(`two processes ${postgresTitle}`, () => {
  test("a leaked secret is dead at the next request in both; of rotations at once one secret works", async () => {
    const options = ["--database-url", await newPostgresUrl(), "--data-dir", newFolder()]
    const [one, two] = [await startChild(options), await startChild(options)]
    try {
      const admin = await mint(target(one), ADMIN)
      const key = await mint(target(one), CUSTOMER, admin)
      const at = (child: Child, secret: string | undefined): Holder => caller(target(child), secret)
      const load = Array.from({ length: 20 }, (_, i) => at(i % 2 === 0 ? one : two, key.secret).execute(request()))
      const rotated = await Promise.all(
        [one, two, one, two].map(child => at(child, admin.secret).post(`/admin/keys/${key.id}/rotate`, {})),
      )
      for (const child of [one, two]) expect((await at(child, key.secret).get("/runs")).status).toBe(401)
      for (const { status } of await Promise.all(load)) expect([200, 401]).toContain(status)
      const secrets = rotated.map(({ body }) => textAt(body, "secret"))
      const works = await Promise.all(secrets.map(async secret => (await at(two, secret).get("/runs")).status))
      expect(works.toSorted()).toEqual([200, 401, 401, 401])
      await Promise.all([
        at(one, admin.secret).send("DELETE", `/admin/keys/${key.id}`),
        at(two, admin.secret).post(`/admin/keys/${key.id}/rotate`, {}),
      ])
      for (const secret of secrets) expect((await at(one, secret).get("/runs")).status).toBe(401)
    } finally {
      await Promise.all([one.end("SIGTERM"), two.end("SIGTERM")])
    }
  })
})
