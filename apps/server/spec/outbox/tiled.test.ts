/** Every entry of the service's log is entered in a Rekor v2 log too, with a timestamp: once, in order, whatever fails. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseStrictJson } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { readBundle } from "@runseal/core/verify/bundle-forms"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { tiledBody } from "@runseal/log/entries/rekor-v2"
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest"
import { opensslPresence, opensslPresent } from "../../../../libs/core/test/fixtures/openssl-authority.ts"
import type { Config } from "../../src/options/config.ts"
import { LOG_ANSWER_MAX_BYTES } from "../../src/outbound/outbox/ask-log.ts"
import { openDatabase } from "../../src/store/driver/database.ts"
import { readEntries } from "../../src/store/tables/log-store.ts"
import { bothDatabases } from "../database/databases.ts"
import type { TestClock } from "../harness/clock.ts"
import { backlogOf, rekorConfig, retryQuickly, untilDelivered } from "../harness/outbox-waits.ts"
import { at, listAt, numberAt, textAt } from "../harness/read-answer.ts"
import { type Behaviour, losing, type RekorLog } from "../harness/rekor-server.ts"
import { type Authority, rpcError, stamped, startAuthority, startRekorV2 } from "../harness/rekor-v2-server.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { openService, standingService, type TestService } from "../harness/test-service.ts"
import { until } from "../harness/until.ts"
import { verifyWithCli } from "../harness/verifier.ts"

retryQuickly()

/** The machine's clock, which OpenSSL stamps with. */
function machineClock(): TestClock {
  let moved = 0
  return {
    nowMs: () => Date.now() + moved,
    advance: milliseconds => {
      moved += milliseconds
    },
  }
}

/** What the process log says of a failure. */
type Fault = { readonly fault: string; readonly status?: number; readonly problem?: unknown }

const text = ({ body }: { readonly body: string | Uint8Array }): string => Buffer.from(body).toString("utf8")

describe.skipIf(!opensslPresent)(`a Rekor v2 log with timestamps of OpenSSL${opensslPresence}`, async () => {
  if (!opensslPresent) return
  const authority = await startAuthority()
  const foreign = await startAuthority("p384")
  const rekor = await startRekorV2(authority)
  const stranger = await startRekorV2(foreign, "stranger.test")
  const clock = machineClock()
  const service = standingService(() => ({ clock, config: rekorConfig(rekor) }))
  const trust = async (): Promise<string> => (await service().get("/.well-known/runseal-trust.json")).text

  beforeEach(async () => {
    rekor.behave()
    authority.behave()
    await untilDelivered(service())
  })
  afterEach(() => {
    rekor.behave()
    authority.behave()
  })

  const logLinesOf = ({ logLines }: TestService): readonly { fault?: string; problem?: string; status?: number }[] =>
    logLines.map(line => JSON.parse(line)).filter(line => line.outside_log === "two.rekor.test")

  /** Everything that was sealed is in the log, once and in order, and so it is stored. */
  async function expectAllInOrder(): Promise<void> {
    const entries = await readEntries(service().db, 1, 257)
    const bodies = entries.map(({ body }) => Buffer.from(tiledBody(Buffer.from(body)) ?? []).toString("utf8"))
    expect(rekor.bodies()).toEqual(bodies)
    const stored = await service().db.sql<{ log_index: number; timestamp: string }[]>`
      select log_index, timestamp from outside_entry order by log_index`
    expect(stored.map(({ log_index }) => log_index)).toEqual(entries.map(({ log_index }) => log_index))
    for (const { timestamp } of stored) expect(timestamp.length).toBeGreaterThan(600)
  }

  const times = (count: number, behaviour: Behaviour): Behaviour => {
    let left = count
    return (asked, honest) => (left-- > 0 ? behaviour(asked, honest) : honest())
  }

  /** A run while one of the two misbehaves twice: it is answered, logged, and delivered in the end. */
  async function expectOvercome(
    who: Pick<RekorLog | Authority, "behave">,
    behaviour: Behaviour,
    expected: Fault,
  ): Promise<void> {
    const before = logLinesOf(service()).length
    who.behave(times(2, behaviour))
    expect((await service().execute(request())).status).toBe(200)
    await untilDelivered(service())
    await expectAllInOrder()
    const faults = logLinesOf(service())
      .slice(before)
      .filter(line => line.fault !== undefined)
    expect(faults.length).toBeGreaterThan(0)
    for (const line of faults) expect(line).toMatchObject(expected)
    expect(stranger.asked()).toEqual([])
  }

  function bundleIn(document: string): Bundle {
    const value = parseStrictJson(document)
    const bundle = isObject(value) ? readBundle(value) : { unreadable: "no object" }
    if ("unreadable" in bundle) throw new Error(bundle.unreadable)
    return bundle
  }

  describe("every entry, from the first run on", () => {
    test("is entered once, in order, with digest, signature and key of the one in the service's own log", async () => {
      await Promise.all([1, 2, 3].map(() => service().execute(request())))
      await service().execute(request({ payload: EICAR }))
      await service().post("/attest", { digest: "d1".repeat(32), algorithm: "sha256" })
      await service().get("/runs/export")
      await untilDelivered(service())
      await expectAllInOrder()
      expect(rekor.bodies()).toHaveLength(10)
      expect(authority.asked()).toHaveLength(10)
    })

    test("is shown beside the record's own anchors, and verifies with the published trust document", async () => {
      const run = numberAt((await service().execute(request())).body, "run_id")
      await untilDelivered(service())
      const document = (await service().get(`/runs/${run}/artifacts`)).text
      const [outside] = bundleIn(document).anchors.outside ?? []
      expect(Object.keys(outside?.pre_anchor ?? {}).toSorted()).toEqual(["entry", "leaf", "timestamp"])
      expect(outside?.pre_anchor?.entry.inclusionProof.checkpoint.envelope).not.toContain("witness.test")
      const verified = await verifyWithCli(document, await trust())
      expect(verified, verified.stdout).toMatchObject({
        exit: 0,
        verdict: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
      })
      expect(verified.stdout).toContain("2 of its entries are also in two.rekor.test, in time")
      expect(verified.stdout).toMatch(/complete_record +entry \d+ of two\.rekor\.test, stamped \S+ by 127\.0\.0\.1,/)
      const pdf = await service().request(`/runs/${run}/report.pdf`)
      const report = await verifyWithCli(new Uint8Array(await pdf.arrayBuffer()), await trust())
      expect(report, report.stdout).toMatchObject({ exit: 0 })
    })

    test("is of a log and an authority that the trusted root for other tools lists", async () => {
      const { body } = await service().get("/.well-known/trusted-root.json")
      expect(
        listAt(body, "tlogs").map(log => [textAt(log, "baseUrl"), textAt(log, "publicKey", "keyDetails")]),
      ).toEqual([
        ["https://runseal.local", "PKIX_ECDSA_P256_SHA_256"],
        ["https://two.rekor.test", "PKIX_ED25519"],
      ])
      const [tsa] = listAt(body, "timestampAuthorities")
      expect(textAt(tsa, "uri")).toBe(authority.url)
      expect(listAt(tsa, "certChain", "certificates")).toHaveLength(2)
    })
  })

  describe("the entry is delivered all the same, later and once, after the log answered", () => {
    const answered =
      (status: number, body: string): Behaviour =>
      () => ({ status, headers: { "content-type": "application/json" }, body })
    test.each<[string, Behaviour, string, number?]>([
      ["a server error", () => rpcError(500, 2, "failed to integrate entry"), "failed", 500],
      [
        "that it is overloaded",
        () => rpcError(503, 14, "reached max pushback; retry", { "retry-after": "0" }),
        "failed",
        503,
      ],
      ["too many requests", () => rpcError(429, 8, "slow down", { "retry-after": "1" }), "limited", 429],
      ["a refusal", () => rpcError(400, 3, "invalid hashedrekord request"), "refused", 400],
      ["that it is frozen", () => rpcError(405, 12, "This log has been frozen"), "refused", 405],
      ["with a redirect", () => ({ status: 307, headers: { location: stranger.url }, body: "" }), "refused", 307],
      ["nothing, and the connection broke", () => "reset", "unreachable"],
      ["a page that is no answer", answered(201, "<html>maintenance</html>"), "invalid", 201],
      ["an answer without entry", answered(201, "{}"), "invalid", 201],
      [
        "without end",
        (_, honest) => ({ ...honest(), body: text(honest()).padEnd(LOG_ANSWER_MAX_BYTES + 1) }),
        "invalid",
      ],
      ["a conflict without index", answered(409, '{"code":6,"message":"exists"}'), "invalid", 409],
      [
        "a conflict with an index that its checkpoint does not hold yet",
        (asked, honest) => (asked.method === "GET" ? honest() : rpcError(409, 6, "exists with index 9000")),
        "failed",
        409,
      ],
    ])("%s", async (_name, behaviour, fault, status) => {
      await expectOvercome(rekor, behaviour, { fault, ...(status === undefined ? {} : { status }) })
    })
  })

  describe("never stored is an entry", () => {
    const changed =
      (change: (entry: Record<string, unknown>) => void): Behaviour =>
      (_, honest) => {
        const sent = honest()
        const answer = sent.status === 201 ? JSON.parse(text(sent)) : undefined
        if (answer === undefined) return sent
        change(answer)
        return { ...sent, body: JSON.stringify(answer) }
      }
    const inProof = (name: string, value: unknown): Behaviour =>
      changed(entry => Object.assign(Object(entry.inclusionProof), { [name]: value }))
    const zeros = Buffer.alloc(32).toString("base64")
    /** The first answer is spoilt and the entry found after a conflict: only answers that are entries can be. */
    test.each<[string, Behaviour]>([
      ["of another tree size", inProof("treeSize", "9000")],
      ["with another root", inProof("rootHash", zeros)],
      ["at another place in the tree", inProof("logIndex", "900")],
      ["with a path that leads elsewhere", inProof("hashes", [zeros])],
      ["at another index of the log", changed(entry => Object.assign(entry, { logIndex: "900" }))],
      ["of another log", changed(entry => Object.assign(entry, { logId: { keyId: zeros } }))],
      ["of another kind", changed(entry => Object.assign(entry, { kindVersion: { kind: "dsse", version: "0.0.2" } }))],
      [
        "of another body",
        changed(entry =>
          Object.assign(entry, { canonicalizedBody: Buffer.from(rekor.bodies()[0] ?? "").toString("base64") }),
        ),
      ],
      [
        "with a checkpoint that another key signed",
        (_, honest) => {
          const sent = honest()
          const flip = (line: string): string => line.replace(/(\S{20})\S{4}/, "$1AAAA")
          return { ...sent, body: text(sent).replace(/— two\.rekor\.test [^\\]+/, flip) }
        },
      ],
    ])("%s: it is found again, and verified", async (_name, behaviour) => {
      const asked = rekor.asked().length
      await expectOvercome({ behave: next => rekor.behave(next && (times(1, next) as Behaviour)) }, behaviour, {
        fault: "invalid",
      })
      expect(
        rekor
          .asked()
          .slice(asked)
          .map(({ status }) => status),
      ).toContain(409)
    })

    test("whose tiles do not lead to the checkpoint, when its first answer was lost", async () => {
      const before = logLinesOf(service()).length
      let spoilt = 0
      rekor.behave((asked, honest) => {
        const sent = honest()
        if (sent.status === 201 && spoilt === 0) return "reset"
        if (!asked.path.includes("/tile/") || ++spoilt > 2) return sent
        return { ...sent, body: Buffer.from(sent.body).fill(9) }
      })
      await service().execute(request())
      await untilDelivered(service())
      await expectAllInOrder()
      const faults = logLinesOf(service()).slice(before)
      expect(faults.filter(({ fault }) => fault === "invalid").length).toBeGreaterThan(0)
      expect(faults.filter(({ fault }) => fault === "unreachable")).toHaveLength(1)
    })
  })

  test("an entry that the log has already, since its answer was lost, is shown by its tiles: it is there once", async () => {
    const asked = rekor.asked().length
    rekor.behave(times(1, losing("reset")))
    await service().execute(request())
    await untilDelivered(service())
    await expectAllInOrder()
    const since = rekor.asked().slice(asked)
    expect(since.map(({ method, status }) => [method, status]).slice(0, 4)).toEqual([
      ["POST", undefined],
      ["POST", 409],
      ["GET", 200],
      ["GET", 200],
    ])
    const run = numberAt((await service().get("/runs")).body, "total")
    const verified = await verifyWithCli((await service().get(`/runs/${run}/artifacts`)).text, await trust())
    expect(verified, verified.stdout).toMatchObject({ exit: 0 })
    expect(verified.stdout).toContain("2 of its entries are also in two.rekor.test, in time")
  })

  describe("while the log is up and the timestamp authority", () => {
    const problem = (words: string) => ({ fault: "untimed", problem: expect.stringContaining(words) })
    /** The request with another value in the place of some of its bytes: the nonce, or the digest. */
    const asking =
      (change: (query: Buffer) => Buffer): Behaviour =>
      ({ body }) => {
        const query = change(Buffer.from(body, "latin1"))
        return authority.answerTo(query)
      }
    test.each<[string, Behaviour, Fault]>([
      ["is down", () => "reset", problem("did not answer in time")],
      ["fails", () => ({ status: 500, headers: {}, body: "" }), { ...problem("refused or failed"), status: 500 }],
      [
        "limits requests",
        () => ({ status: 429, headers: { "retry-after": "1" }, body: "" }),
        { ...problem("refused or failed"), status: 429 },
      ],
      [
        "redirects",
        () => ({ status: 302, headers: { location: foreign.url }, body: "" }),
        problem("refused or failed"),
      ],
      ["answers with a page", () => stamped(Buffer.from("<html>")), problem("granted no timestamp")],
      [
        "answers without end",
        () => stamped(Buffer.alloc(LOG_ANSWER_MAX_BYTES + 1, 0x30)),
        problem("granted no timestamp"),
      ],
      ["refuses", () => stamped(Buffer.from("30053003020102", "hex")), problem("granted no timestamp")],
      ["stamps another signature", asking(query => spoilt(query, 30)), problem("over other bytes")],
      ["answers another request", asking(query => spoilt(query, -8)), problem("answers another request")],
      [
        "is another one",
        ({ body }) => foreign.answerTo(Buffer.from(body, "latin1")),
        problem("another certificate than the first of --tsa-chain"),
      ],
      [
        "changes what it signed",
        (_, honest) => {
          const sent = honest()
          return { ...sent, body: spoilt(Buffer.from(sent.body), -3) }
        },
        problem("signature of the timestamp"),
      ],
    ])("%s, nothing is delivered, and it is told of", async (_name, behaviour, expected) => {
      const entered = rekor.asked().length
      const seen: number[] = []
      const watched: Behaviour = (asked, honest) => {
        seen.push(rekor.asked().length)
        return behaviour(asked, honest)
      }
      await expectOvercome(authority, watched, expected)
      expect(foreign.asked()).toEqual([])
      expect(seen).toEqual([entered, entered])
    })

    test("everybody sees what waits and why", async () => {
      authority.behave(() => ({ status: 503, headers: {}, body: "" }))
      await service().execute(request())
      const standing = await until("the fault is noted", async () => {
        const [log] = listAt((await service().get("/log/outside")).body, "logs")
        return at(log, "fault") === "untimed" ? log : undefined
      })
      expect(standing).toMatchObject({ backlog: 2, fault: "untimed" })
      authority.behave()
      await untilDelivered(service())
      expect(await backlogOf(service())).toBe(0)
    })
  })
})

const tsa = opensslPresent ? await startAuthority("rsa") : undefined
const logs = tsa === undefined ? [] : [await startRekorV2(tsa), await startRekorV2(tsa, "two.rekor.test", "p256")]

bothDatabases(`a record whose window passed before it was stamped${opensslPresence},`, open => {
  const rekor = logs.pop()
  const clock = machineClock()
  clock.advance(-700_000)
  const service = standingService(() => ({
    open,
    clock,
    config: rekor === undefined ? {} : rekorConfig(rekor, { mode: "sync" }),
  }))

  test.skipIf(rekor === undefined)("is marked in each of its outside anchors, and the next one is not", async () => {
    const runs = [await service().execute(request())]
    clock.advance(700_000)
    runs.push(await service().execute(request()))
    expect(runs.map(({ status }) => status)).toEqual([200, 200])
    const trust = (await service().get("/.well-known/runseal-trust.json")).text
    const [late = "", inTime = ""] = await Promise.all(
      runs.map(async ({ body }) => (await service().get(`/runs/${numberAt(body, "run_id")}/artifacts`)).text),
    )
    const marks = (document: string): readonly unknown[] => {
      const [outside] = listAt(parseStrictJson(document), "anchors", "outside")
      return ["pre_anchor", "complete_record"].map(slot => at(outside, slot, "late"))
    }
    expect([marks(late), marks(inTime)]).toEqual([
      [true, true],
      [undefined, undefined],
    ])
    const verified = await verifyWithCli(late, trust)
    expect(verified, verified.stdout).toMatchObject({ exit: 0 })
    expect(verified.stdout).toContain("2 of its entries are also in two.rekor.test, 2 of them late")
    const unmarked = await verifyWithCli(late.replace('"late":true,', ""), trust)
    expect(unmarked).toMatchObject({ exit: 1, verdict: "FAILED" })
    expect(unmarked.stdout).toContain("is not marked as late")
  })
})

test.skipIf(!opensslPresent)(
  `without the options nothing is sent, and who stamped stays listed${opensslPresence}`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "runseal-tiled-"))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const clock = machineClock()
    const opened = (config: Partial<Config>): Promise<TestService> =>
      openService({
        open: () => openDatabase({ kind: "pglite", dataDir: join(folder, "data") }),
        keysDir: join(folder, "keys"),
        clock,
        config,
      })
    const log = await startRekorV2(await startAuthority())
    const sending = await opened(rekorConfig(log))
    await sending.execute(request())
    await untilDelivered(sending)
    await sending.close()
    const asked = log.asked().length
    const without = await opened({})
    onTestFinished(() => without.close())
    await without.execute(request())
    const { text: trust } = await without.get("/.well-known/runseal-trust.json")
    const verified = await verifyWithCli((await without.get("/runs/1/artifacts")).text, trust)
    expect(verified, verified.stdout).toMatchObject({ exit: 0 })
    expect(verified.stdout).toContain("2 of its entries are also in two.rekor.test, in time")
    expect(log.asked()).toHaveLength(asked)
  },
)

const EXPIRED = opensslPresent ? await startAuthority("p256", ["-days", "0"]) : undefined
const unused = EXPIRED && (await startRekorV2(EXPIRED, "unused.test"))

describe.skipIf(unused === undefined)(`an authority whose certificate has ended${opensslPresence}`, () => {
  const clock = machineClock()
  const service = standingService(() => ({ clock, config: unused === undefined ? {} : rekorConfig(unused) }))

  test("stamps nothing that is stored: runs are sealed, nothing is entered, and everybody sees why", async () => {
    // Its certificate counts to the end of the second in which it was made.
    await until("the certificate has ended", async () => {
      const { body } = await service().execute(request())
      const [log] = listAt((await service().get("/log/outside")).body, "logs")
      return typeof body === "object" && at(log, "fault") === "untimed"
    })
    const problems = service()
      .logLines.map(line => JSON.parse(line))
      .filter(({ fault }) => fault === "untimed")
    expect(problems.at(-1)).toMatchObject({ problem: expect.stringContaining("was not valid at its time") })
    expect((await service().get("/ready")).body).toMatchObject({ ready: true, outside_fault: "untimed" })
  })
})

/** Bytes with another one in one place, counted from the end when negative. */
function spoilt(bytes: Buffer, place: number): Buffer {
  const copy = Buffer.from(bytes)
  const index = place < 0 ? copy.length + place : place
  copy.writeUInt8(copy.readUInt8(index) ^ 1, index)
  return copy
}
