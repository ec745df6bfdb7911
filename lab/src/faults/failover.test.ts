/** Decision 0110: a standby that takes a lost primary's place. Two servers, a real primary and a real standby; nothing is sealed twice. */
import { readdirSync, readFileSync, renameSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import { startCuttingProxy } from "../../../apps/server/spec/database/cutting-proxy.ts"
import { postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import {
  checkpointOf,
  lookAgain,
  openWorld,
  sizeOf,
  untilReady,
  untilSealed,
  type World,
} from "../../../apps/server/spec/database/failover-world.ts"
import { cutOff, untilCaughtUp } from "../../../apps/server/spec/database/standby.ts"
import { openSwitchingProxy } from "../../../apps/server/spec/database/switching-proxy.ts"
import { opened } from "../../../apps/server/spec/harness/asked-permits.ts"
import { runToEnd } from "../../../apps/server/spec/harness/child.ts"
import { ADMIN, CUSTOMER, mint } from "../../../apps/server/spec/harness/key-holders.ts"
import { isReplay, newKey, sendKeyed } from "../../../apps/server/spec/harness/keyed.ts"
import { type Answer, expectRefused, textAt } from "../../../apps/server/spec/harness/read-answer.ts"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import type { TestService } from "../../../apps/server/spec/harness/test-service.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"

/** Starts of two servers of PostgreSQL and two services, on a machine that is busy. */
const DEADLINE_MS = 480_000
const ATTESTED = { digest: "d1".repeat(32), algorithm: "sha256" }
const AWAITED = /until \d+ more of the folders of heads/
const OLDER = /older log than was acknowledged, or another/
const EXCHANGED = /database was exchanged/

/** Every answer is 503, before and after the readiness probe has found the reason; `/ready` and the process log state it. */
async function expectStopped(service: TestService, why: RegExp): Promise<void> {
  await until(`a look finds ${why}`, async () => {
    expectRefused(await service.execute(request()), 503)
    return why.test(expectRefused(await lookAgain(service), 503)) && why.test(service.logLines.join("\n"))
  })
  for (let again = 0; again < 2; again++) {
    expect(expectRefused(await service.execute(request()), 503)).toMatch(EXCHANGED)
    expect(expectRefused(await lookAgain(service), 503)).toMatch(why)
  }
}

const filesOf = (keysDir: string): readonly string[] =>
  readdirSync(join(keysDir, "heads"))
    .filter(name => name !== "id")
    .map(name => readFileSync(join(keysDir, "heads", name), "latin1").slice(0, 81))

describe.skipIf(postgresStart.kind === "absent")(`a failover ${postgresTitle}`, { timeout: DEADLINE_MS }, () => {
  test("that lost records, one keys folder: the server that was idle refuses at once, and no other root comes to be", async () => {
    const world = await openWorld()
    const { keysDir, standby, primary } = world
    const a = await world.serve(keysDir)
    const b = await world.serve(keysDir, a.clock)
    await a.execute(request())
    await untilCaughtUp(standby.url, primary.url)
    await cutOff(standby.url)
    expect((await a.execute(request())).status).toBe(200)
    // B seals nothing, but it shows the checkpoint.
    expect(await checkpointOf(b)).toBe(await checkpointOf(a))
    const before = filesOf(keysDir)
    await world.failOver()
    for (const service of [a, b])
      for (const path of ["/log/checkpoint", "/log/entry/1"]) expectRefused(await service.get(path), 503)
    await expectStopped(b, OLDER)
    await expectStopped(a, OLDER)
    expect(await sizeOf(b)).toBe(3)
    for (const service of [a, b]) expectRefused(await service.get("/log/checkpoint"), 503)
    expect(filesOf(keysDir), "the evidence stays").toEqual(expect.arrayContaining([...before]))
    await expect(world.serve(keysDir, a.clock)).rejects.toThrow(/it is an older copy/)
    expect(filesOf(keysDir)).toEqual(expect.arrayContaining([...before]))
  })

  test("that lost nothing but a redemption: nothing is sealed, and the permit is not redeemed again", async () => {
    const world = await openWorld()
    const { keysDir, standby, primary } = world
    const a = await world.serve(keysDir)
    const held = await openedPermit(a)
    await untilCaughtUp(standby.url, primary.url)
    await cutOff(standby.url)
    expect((await redeem(a, held)).status).toBe(200)
    await world.failOver()
    await expectStopped(a, OLDER)
    for (let again = 0; again < 3; again++) expectRefused(await redeem(a, held), 503)
    await expect(world.serve(keysDir, a.clock)).rejects.toThrow(/it is an older copy/)
  })

  test("that lost a revocation: nobody is let in and no act is done; with the old primary nothing has changed", async () => {
    const world = await openWorld()
    const { keysDir, standby, primary, proxy } = world
    const a = await world.serve(keysDir)
    const admin = await mint(a, ADMIN)
    const leaver = await mint(a, { ...ADMIN, name: "leaver" }, admin)
    const key = await mint(a, CUSTOMER, admin)
    await untilCaughtUp(standby.url, primary.url)
    await cutOff(standby.url)
    expect((await admin.send("DELETE", `/admin/keys/${leaver.id}`)).status).toBe(200)
    await standby.promote()
    proxy.switchTo(standby.url)
    // At once, before any poll.
    expectRefused(await leaver.get("/runs"), 503)
    await until("a look finds it", async () => OLDER.test(expectRefused(await lookAgain(a), 503)))
    for (const holder of [admin, leaver]) {
      expectRefused(await holder.send("DELETE", `/admin/keys/${key.id}`), 503)
      expectRefused(await holder.post(`/admin/keys/${key.id}/rotate`, {}), 503)
      expectRefused(await holder.post("/admin/keys", CUSTOMER), 503)
      expectRefused(await holder.post("/admin/destinations", { url: "https://siem.invalid/" }), 503)
    }
    proxy.switchTo(primary.url)
    await untilReady(a)
    expectRefused(await leaver.get("/runs"), 401)
    expect((await key.get("/runs")).status).toBe(200)
    expect((await admin.get("/admin/keys")).body).toMatchObject({ keys: [{}, { revoked: true }, { revoked: false }] })
    expect((await admin.get("/admin/destinations")).body).toMatchObject({ destinations: [] })
  })

  test.each(["keys", "all"] as const)(
    "that lost records, a folder each (copied: %s): the idle server waits, then refuses",
    async how => {
      const world = await openWorld()
      const { keysDir, standby, primary } = world
      const a = await world.serve(keysDir)
      await a.execute(request())
      const held = await openedPermit(a)
      const other = world.keysLike(keysDir, how)
      const b = await world.serve(other, a.clock)
      await untilCaughtUp(standby.url, primary.url)
      await cutOff(standby.url)
      expect((await a.execute(request())).status).toBe(200)
      expect((await redeem(a, held)).status).toBe(200)
      expect(await checkpointOf(b), "b showed what is lost").toBe(await checkpointOf(a))
      const before = filesOf(keysDir)
      await world.failOver()
      expectRefused(await b.get("/log/checkpoint"), 503)
      await expectStopped(b, AWAITED)
      await expectStopped(a, OLDER)
      for (const service of [a, b]) expectRefused(await redeem(service, held), 503)
      expect(await sizeOf(b)).toBe(4)
      await expect(world.serve(keysDir, a.clock)).rejects.toThrow(/it is an older copy/)
      await expectStopped(b, AWAITED)
      expect(filesOf(keysDir)).toEqual(before)
      expect(await sizeOf(b)).toBe(4)

      // The operator gives up what was lost, and says so: then the log goes on without the folder, which never joins it.
      const [awaited = ""] = /[0-9a-f]{32}/.exec((await b.get("/ready")).text) ?? []
      const listed = await heads(world, "list")
      expect(listed.stdout).toContain(`${awaited}  awaited  `)
      expect(listed.stdout).toContain(`:${keysDir}\n`)
      expect((await heads(world, "forget", "0".repeat(32))).stderr).toMatch(/knows no folder/)
      expect((await heads(world, "forget", awaited)).stdout).toMatch(/is forgotten/)
      const sealed = await untilSealed(b)
      expect(sealed.body.run_id).toBe(2)
      expect((await b.get("/log/checkpoint")).status).toBe(200)
      // Whether it was redeemed was known to the lost folder alone.
      expect(expectRefused(await redeem(b, held), 409, "permit_not_open")).toMatch(/Records were lost/)
      expect((await redeem(b, await openedPermit(b))).status).toBe(200)
      for (let i = 0; i < 3; i++) expect((await b.execute(request())).status).toBe(200)
      await expect(world.serve(keysDir, a.clock)).rejects.toThrow(/another log than the one that was acknowledged/)
      await expectStopped(a, OLDER)
      expect(filesOf(keysDir), "a longer fork takes no evidence away").toEqual(before)
    },
  )

  test("that lost a record which was found under its key, after nobody learned the outcome of its commit: nothing is sealed", async () => {
    const world = await openWorld()
    const { keysDir, standby, primary, proxy } = world
    const cutting = await startCuttingProxy(Number(new URL(primary.url).port))
    onTestFinished(cutting.close)
    const way = new URL(primary.url)
    way.port = `${cutting.port}`
    const a = await world.serve(keysDir)
    const b = await world.serve(world.keysLike(keysDir, "keys"), a.clock)
    await untilCaughtUp(standby.url, primary.url)
    await cutOff(standby.url)
    proxy.switchTo(way.href)
    await until("a is on the way that is cut", async () => (await lookAgain(a)).status === 200)
    cutting.cutAt("commit\0", "after")
    const found = await sendKeyed(a, "/attest", newKey(), ATTESTED)
    expect(found.status).toBe(201)
    expect(isReplay(found)).toBe(true)
    await world.failOver()
    await expectStopped(a, OLDER)
    await expectStopped(b, AWAITED)
  })

  test("is not needed: a record that another server sealed is repeated once its head can be remembered", async () => {
    const { keysDir, keysLike, serve } = await openWorld()
    const a = await serve(keysDir)
    const other = keysLike(keysDir, "keys")
    const b = await serve(other, a.clock)
    const key = newKey()
    expect((await sendKeyed(a, "/attest", key, ATTESTED)).status).toBe(201)
    renameSync(join(other, "heads"), join(other, "elsewhere"))
    expectRefused(await sendKeyed(b, "/attest", key, ATTESTED), 503)
    renameSync(join(other, "elsewhere"), join(other, "heads"))
    expect(isReplay(await sendKeyed(b, "/attest", key, ATTESTED))).toBe(true)
    expect(filesOf(other).join()).toContain(filesOf(keysDir).join())
  })

  test("that lost nothing: sealing resumes by itself with both servers up, and waits for one that is down", async () => {
    const world = await openWorld()
    const { keysDir, standby, primary } = world
    const a = await world.serve(keysDir)
    const other = world.keysLike(keysDir, "keys")
    const b = await world.serve(other, a.clock)
    await a.execute(request())
    await untilCaughtUp(standby.url, primary.url)
    await world.failOver()
    expect((await untilSealed(b)).body.run_id).toBe(2)
    expect((await untilSealed(a)).body.run_id).toBe(3)
    await untilReady(a)
  })

  test("of a server alone that lost nothing: it resumes by itself; a restart of the same primary is not noticed", async () => {
    const world = await openWorld()
    const { keysDir, standby, primary } = world
    const a = await world.serve(keysDir)
    await a.execute(request())
    await primary.crashAndRestart()
    expect((await untilSealed(a)).body.run_id).toBe(2)
    expect(a.logLines.join()).not.toMatch(AWAITED)
    await untilCaughtUp(standby.url, primary.url)
    await world.failOver()
    expect((await untilSealed(a)).body.run_id).toBe(3)
  })

  test("with synchronous replication: the server that is left waits for nobody", async () => {
    const world = await openWorld(true)
    const { keysDir, standby, primary } = world
    const way = await openSwitchingProxy(primary.url)
    const a = await world.serve(keysDir, undefined, { url: way.url })
    const b = await world.serve(world.keysLike(keysDir, "keys"), a.clock)
    await a.execute(request())
    for (const service of [a, b]) await untilReady(service)
    await untilCaughtUp(standby.url, primary.url)
    way.close()
    await world.failOver()
    expect((await untilSealed(b)).body.run_id).toBe(2)
  })

  test("after a server was stopped: one that is left stands for it, refuses a database that lost its records at once", async () => {
    const world = await openWorld()
    const { keysDir, standby, primary } = world
    const a = await world.serve(keysDir)
    const b = await world.serve(world.keysLike(keysDir, "keys"), a.clock)
    await untilCaughtUp(standby.url, primary.url)
    await cutOff(standby.url)
    await a.execute(request())
    await a.close()
    await untilReady(b)
    expect(JSON.parse((await heads(world, "list", "--json")).stdout).folders).toHaveLength(1)
    await world.failOver()
    await expectStopped(b, OLDER)
  })

  test("after a server was stopped, and nothing was lost: the one that is left goes on by itself", async () => {
    const world = await openWorld()
    const { keysDir, standby, primary } = world
    const a = await world.serve(keysDir)
    const b = await world.serve(world.keysLike(keysDir, "keys"), a.clock)
    await a.execute(request())
    await a.close()
    await untilReady(b)
    await untilCaughtUp(standby.url, primary.url)
    await world.failOver()
    expect((await untilSealed(b)).body.run_id).toBe(2)
  })

  test("that left the old primary alive, one keys folder: the server that stays there refuses once the other has gone on", async () => {
    const world = await openWorld()
    const { keysDir, standby, primary } = world
    const a = await world.serve(keysDir, undefined, { url: primary.url })
    const b = await world.serve(keysDir, a.clock)
    for (const service of [a, b]) expect((await service.execute(request())).status).toBe(200)
    const held = await openedPermit(a)
    await untilCaughtUp(standby.url, primary.url)
    await standby.promote()
    world.proxy.switchTo(standby.url)
    expect((await untilSealed(b)).body.run_id).toBe(3)
    expect((await redeem(b, held)).status).toBe(200)
    await expectStopped(a, /another one than before|another/)
    expectRefused(await redeem(a, held), 503)
    expect(await sizeOf(a)).toBe(6)
    expect((await b.execute(request())).body.run_id).toBe(4)
  })

  test("a server that goes back to the database it left waits until the others are back too", async () => {
    const world = await openWorld()
    const { keysDir, standby, primary, proxy } = world
    const a = await world.serve(keysDir)
    const b = await world.serve(world.keysLike(keysDir, "keys"), a.clock)
    await a.execute(request())
    await untilCaughtUp(standby.url, primary.url)
    await standby.promote()
    proxy.switchTo(standby.url)
    expect((await untilSealed(a)).body.run_id).toBe(2)
    await untilReady(b)
    await a.close()
    proxy.switchTo(primary.url)
    await expectStopped(b, AWAITED)
  })
})

type Held = { readonly id: string; readonly permit: string }

async function openedPermit(service: TestService): Promise<Held> {
  const { body } = await opened(service, { redeem_required: true, valid_for_seconds: 3600 })
  return { id: textAt(body, "permit_id"), permit: textAt(body, "permit") }
}

const redeem = (service: TestService, { id, permit }: Held): Promise<Answer> =>
  service.post(`/permits/${id}/redeem`, { permit })

/** The operator's command, at the machine. */
const heads = ({ proxy }: World, ...words: readonly string[]) =>
  runToEnd(["--database-url", proxy.url, "heads", ...words])
