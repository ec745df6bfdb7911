/**
 * A signer of the service's own that returns a wrong signature: it is found within the bound, and the service is not ready from then on.
 * What a crash left unverified, the next start verifies. Decision 0155.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { utf8Encode } from "@runseal/canonical"
import { emptyRange } from "@runseal/log/merkle/compact-range"
import { afterEach, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { createApp } from "../../src/app.ts"
import { WATCH } from "../../src/followed-steps.ts"
import { newEcdsaKey, type OwnEcdsaKey } from "../../src/keys/ecdsa-keys.ts"
import { growLog } from "../../src/keys/embedded-log.ts"
import { trustDocument, trustedKeysOf } from "../../src/keys/published-trust.ts"
import type { Batch } from "../../src/sealing/batch.ts"
import { openOwnVerification } from "../../src/sealing/own-verification.ts"
import { attestationDraft, attestationItem } from "../../src/sealing/seal-attestation.ts"
import { buildBatch } from "../../src/sealing/seal-batch.ts"
import { openDatabase } from "../../src/store/driver/database.ts"
import { expectRefused } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { readStoredBundle, writeStoredBundle } from "../harness/stored-bundle.ts"
import { openService, type TestService } from "../harness/test-service.ts"
import { until } from "../harness/until.ts"

const folder = testFolder("runseal-wrong-signatures")
const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

const REASON = "A signature of this service does not verify: see the process log."
const TIME = Date.UTC(2026, 4, 4, 12) / 1000
const ORIGIN = "wrong.example - 1"
const ATTESTATIONS = 40

/** A key that signs another text in place of one of those that it is given. */
function mistakenAt(which: number, key: OwnEcdsaKey): OwnEcdsaKey {
  let signed = 0
  const sign = (message: Uint8Array): Uint8Array => key.sign(signed++ === which ? utf8Encode("another text") : message)
  return { ...key, sign }
}

async function started(name: string): Promise<TestService> {
  const service = await openService({
    keysDir: join(folder, name, "keys"),
    open: () => openDatabase({ kind: "pglite", dataDir: join(folder, name, "data") }),
  })
  open.push(service.close)
  return service
}

const readyOf = (service: TestService) => {
  service.clock.advance(10_000)
  return service.get("/ready")
}

test("one wrong signature of a batch is stored unless it is the sample, is found, and ends readiness", async () => {
  const service = await started("found")
  const keys = { service: newEcdsaKey(), log: newEcdsaKey() }
  const key = (role: "service" | "log") => ({
    key_id: keys[role].keyId,
    role,
    spki: keys[role].spki,
    valid_from: TIME - 60,
    valid_to: 0,
    revoked_from: 0,
  })
  const signingKeys = [key("service"), key("log")]
  const document = trustDocument({ origin: ORIGIN, genesisAt: TIME - 60, signingKeys }, "wrong.example")
  const trust = trustedKeysOf(document)
  const { db, telemetry } = service.deps
  const verification = openOwnVerification({
    document,
    // The first signature of the log key is the batch's checkpoint; those after it are the entries' own.
    log: { keys: { ...keys, log: mistakenAt(3, keys.log) }, origin: ORIGIN },
    db,
    keysDir: folder,
    ownSize: () => 0,
    telemetry,
  })
  open.push(verification.close)
  const ready = createApp({ ...service.deps, readiness: verification.ready(service.deps.readiness) })
  expect((await ready.request("/ready")).status).toBe(200)
  const digest = "c3".repeat(32)
  const attestations = Array.from({ length: ATTESTATIONS }, () => attestationDraft(3, { digest, algorithm: "sha256" }))
  const log = growLog({ range: emptyRange, edges: [] })
  // A log's first entry is its birth.
  log.append(utf8Encode("birth"))
  const start = {
    frontier: log.frontier(),
    next_run_id: 1,
    tenants: new Map(),
    attested: new Map(),
    time: TIME,
    now: TIME * 1000,
  }
  const attempts = attestations.map(draft => {
    const item = attestationItem(draft, undefined, () => undefined)
    return { item, open: item.open }
  })
  const batch: Batch = await buildBatch(attempts, start, {
    log: verification.log,
    verify: verification.verify,
    trust,
    reportFault: () => undefined,
    watch: WATCH,
  })
  const sealed = batch.sealed.length
  // One in forty times the wrong one is the sample, and is not sealed at all.
  expect([ATTESTATIONS, ATTESTATIONS - 1]).toContain(sealed)
  if (sealed < ATTESTATIONS) return
  await until("the wrong signature is found", async () => (await ready.request("/ready")).status === 503)
  expect(await (await ready.request("/ready")).json()).toMatchObject({ ok: false, error: REASON })
  expect(service.logLines.join("")).toMatch(/"key":"log","message_sha256":"[0-9a-f]{64}".*does not verify/)
})

test("a record with a wrong signature that was sealed just before a crash is found by the next start, and by no later one", async () => {
  const first = await started("crash")
  await first.execute(request())
  await first.execute(request())
  const [text, other] = [await readStoredBundle(first.db, 1), await readStoredBundle(first.db, 2)]
  const promise = /"signedEntryTimestamp":"([^"]+)"/
  const [from = "", to = ""] = [promise.exec(text)?.[1], promise.exec(other)?.[1]]
  await writeStoredBundle(first.db, 1, text.replace(from, to))
  await open.pop()?.()
  // As a crash leaves it: nothing says that all was verified.
  rmSync(join(folder, "crash", "keys", "verified-heads"))

  const second = await started("crash")
  await until("the record is found", async () => (await readyOf(second)).status === 503)
  expect(expectRefused(await readyOf(second), 503)).toBe(REASON)
  expect(second.logLines.join("")).toContain("what was sealed does not verify")
  await open.pop()?.()

  const third = await started("crash")
  expect((await readyOf(third)).status).toBe(200)
  await open.pop()?.()
})

test("a stop in order leaves nothing to verify, and a start after a crash finds nothing wrong in what is right", async () => {
  const first = await started("right")
  for (let run = 0; run < 3; run++) expect((await first.execute(request())).status).toBe(200)
  await first.post("/attest", { digest: "5e".repeat(32), algorithm: "sha256" })
  await open.pop()?.()
  rmSync(join(folder, "right", "keys", "verified-heads"))
  const second = await started("right")
  await open.pop()?.()
  expect(second.logLines.join("")).not.toContain("verif")
})
