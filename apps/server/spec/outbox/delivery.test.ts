/** Every entry of the service's log is entered in a Rekor log too: once, in order, and shown beside the record's own anchors. */
import { parseStrictJson } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { readBundle } from "@runseal/core/verify/bundle-forms"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { describe, expect, test } from "vitest"
import { readEntries } from "../../src/store/tables/log-store.ts"
import { testClock } from "../harness/clock.ts"
import { rekorConfig, untilDelivered } from "../harness/outbox-waits.ts"
import { listAt, numberAt, textAt } from "../harness/read-answer.ts"
import { startRekor } from "../harness/rekor-server.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { readStoredBundle } from "../harness/stored-bundle.ts"
import { standingService } from "../harness/test-service.ts"
import { verifyWithCli } from "../harness/verifier.ts"

const clock = testClock()
const rekor = await startRekor(clock.nowMs)
const service = standingService(() => ({ clock, config: rekorConfig(rekor) }))

const trust = async (): Promise<string> => (await service().get("/.well-known/runseal-trust.json")).text
function bundleIn(text: string): Bundle {
  const value = parseStrictJson(text)
  const bundle = isObject(value) ? readBundle(value) : { unreadable: "no object" }
  if ("unreadable" in bundle) throw new Error(bundle.unreadable)
  return bundle
}

describe("every entry of the log, from the first run on", () => {
  test("is entered once, in the order of the log, with the very body that is in it", async () => {
    await Promise.all([1, 2, 3].map(() => service().execute(request())))
    await service().execute(request({ payload: EICAR }))
    await service().post("/attest", { digest: "d1".repeat(32), algorithm: "sha256" })
    await service().get("/runs/export")
    await untilDelivered(service())
    const entries = await readEntries(service().db, 0, 100)
    expect(entries).toHaveLength(11)
    expect(rekor.bodies()).toEqual(entries.slice(1).map(({ body }) => body))
    expect(rekor.mostAtOnce()).toBe(1)
  })
})

describe("a record", () => {
  test("is shown with its anchors in both logs, and verifies with the published trust document", async () => {
    const run = numberAt((await service().execute(request())).body, "run_id")
    await untilDelivered(service())
    const { text } = await service().get(`/runs/${run}/artifacts`)
    const { anchors } = bundleIn(text)
    const [outside] = anchors.outside ?? []
    expect(Object.keys(outside ?? {}).toSorted()).toEqual(["complete_record", "pre_anchor"])
    expect(outside?.pre_anchor?.leaf).toEqual(anchors.pre_anchor?.leaf)
    expect(outside?.pre_anchor?.entry.canonicalizedBody).toBe(anchors.pre_anchor?.entry.canonicalizedBody)
    const verified = await verifyWithCli(text, await trust())
    expect(verified, verified.stdout).toMatchObject({
      exit: 0,
      verdict: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
    })
    expect(verified.stdout).toContain("2 of its entries are also in rekor.test, in time")
    expect(verified.stdout).toMatch(/complete_record +entry \d+ of rekor\.test, logged /)
  })

  test("is shown so wherever it is shown: in exports, published, and in reports", async () => {
    const run = numberAt((await service().execute(request({ payload: EICAR }))).body, "run_id")
    await untilDelivered(service())
    const { text } = await service().get(`/runs/${run}/artifacts`)
    expect(Object.keys(bundleIn(text).anchors.outside?.[0] ?? {}).toSorted()).toEqual(["complete_record", "receipt"])
    const exported = (await service().get("/runs/export")).text.split("\n")
    expect(exported).toContain(text)
    const pdf = await service().request(`/runs/${run}/report.pdf`)
    const verified = await verifyWithCli(new Uint8Array(await pdf.arrayBuffer()), await trust())
    expect(verified, verified.stdout).toMatchObject({ exit: 0 })
    expect(verified.stdout).toContain("2 of its entries are also in rekor.test, in time")
  })

  test("is not written again: what is stored is what was sealed", async () => {
    const run = numberAt((await service().execute(request())).body, "run_id")
    await untilDelivered(service())
    const { anchors: _, ...shown } = bundleIn((await service().get(`/runs/${run}/artifacts`)).text)
    const { anchors, ...sealed } = bundleIn(await readStoredBundle(service().db, run))
    expect(anchors.outside).toBeUndefined()
    expect(shown).toEqual(sealed)
  })
})

describe("the service says", () => {
  test("which entries the log holds, to anybody", async () => {
    await untilDelivered(service())
    const { body } = await service().get("/log/outside")
    const size = numberAt((await service().get("/ready")).body, "log_size")
    expect(listAt(body, "logs")).toEqual([
      expect.objectContaining({
        host: "rekor.test",
        first_index: 1,
        next_index: size,
        backlog: 0,
        oldest_age_seconds: 0,
      }),
    ])
  })

  test("with which key it signs, in the trust document and in the trusted root for other tools", async () => {
    const { body } = await service().get("/.well-known/trusted-root.json")
    expect(listAt(body, "tlogs").map(log => textAt(log, "baseUrl"))).toEqual([
      "https://runseal.local",
      "https://rekor.test",
    ])
  })

  test("how far behind it is, in the answer of /ready", async () => {
    expect((await service().get("/ready")).body).toMatchObject({ ready: true, outside_backlog: 0 })
  })
})
