/** docs/api.md, "GET /runs/{id}/artifacts" with `with=witnessed`, and "Public bundles". */
import { execFileSync } from "node:child_process"
import { generateKeyPairSync, sign } from "node:crypto"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import type { Report } from "@runseal/core/verify/report"
import { cosignatureLine } from "@runseal/log/entries/log-signing"
import { formatVkey, noteKey, parseNote } from "@runseal/log/notes/signed-note"
import { parseTrust } from "@runseal/log/trust/trust-document"
import { expect, test } from "vitest"
import { hasTool } from "../../../libs/pdf/test/pdf-tools.ts"
import { keepWitnessed } from "../src/store/tables/witnessed-checkpoint.ts"
import { ADMIN, mint } from "./harness/key-holders.ts"
import { expectRefused, listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService, type TestService } from "./harness/test-service.ts"
import { verifyWithCli } from "./harness/verifier.ts"

const standing = standingService()
const pair = generateKeyPairSync("ed25519")
const raw = new Uint8Array(pair.publicKey.export({ type: "spki", format: "der" }).subarray(-32))
const witness = noteKey("witness.example", "cosignature/v1", raw)

/** A witness signs the newest checkpoint. Gives the entries of its tree. */
async function cosign(service: TestService): Promise<number> {
  const { text: checkpoint } = await service.get("/log/checkpoint")
  const text = parseNote(checkpoint)?.text ?? ""
  const size = Number(text.split("\n")[1])
  const line = cosignatureLine(witness, 1_768_500_000, text, message => sign(null, message, pair.privateKey))
  await keepWitnessed(service.db, { size, checkpoint: `${checkpoint}${line}` })
  return size
}

async function reportOf(service: TestService, text: string, isKnown = true): Promise<Report> {
  const { body } = await service.get("/.well-known/runseal-trust.json")
  const keys = [...listAt(body, "checkpoint_keys"), ...(isKnown ? [formatVkey(witness)] : [])]
  const trust = parseTrust({ ...body, checkpoint_keys: keys })
  if ("problem" in trust) throw new Error(trust.problem)
  const report = verifyText(text, [trust])
  if (isUnreadable(report)) throw new Error(report.unreadable)
  return report
}
const judged = ({ verdict, checks, limitations }: Report) => ({
  verdict,
  witnessed: checks.find(({ id }) => id === "witnessed")?.message,
  log: limitations.map(({ code }) => code).find(code => /witness|operator_log/.test(code)),
})

test("a bundle that is asked for with what witnesses signed carries it once their tree has its entries", async () => {
  const service = standing()
  const id = numberAt((await service.execute(request())).body, "run_id")
  const at = (query = "") => service.get(`/runs/${id}/artifacts${query}`)
  const { text: sealed } = await at()
  expect((await at("?with=witnessed")).text, "nobody signed yet").toBe(sealed)
  expect(judged(await reportOf(service, sealed))).toMatchObject({ witnessed: undefined, log: "operator_log" })

  const size = await cosign(service)
  const later = numberAt((await service.execute(request())).body, "run_id")
  for (const query of ["?with=witnessed", "?with=witnessed&form=full"]) {
    const { text } = await at(query)
    expect(judged(await reportOf(service, text)), query).toEqual({
      verdict: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
      witnessed: `its entries are among the first ${size} of the log; cosigned by witness.example at 2026-01-15T18:00:00Z`,
      log: "witnessed_log",
    })
    expect(judged(await reportOf(service, text, false)).log).toBe("unknown_witness")
  }
  expect((await at()).text, "unasked it is as it was sealed").toBe(sealed)
  const { text: unwitnessed } = await service.get(`/runs/${later}/artifacts?with=witnessed`)
  expect(judged(await reportOf(service, unwitnessed)).log).toBe("operator_log")
  await cosign(service)
  const { text: grown } = await service.get(`/runs/${later}/artifacts?with=witnessed`)
  expect(judged(await reportOf(service, grown)).log).toBe("witnessed_log")
  expect(expectRefused(await at("?with=everything"), 400)).toContain("witnessed")
})

test("a report that is asked for so holds that bundle, and says it in the words of every verifier", async () => {
  const service = standing()
  const id = numberAt((await service.execute(request())).body, "run_id")
  const sentence = `its entries are among the first ${await cosign(service)} of the log`
  const { text: trust } = await service.get("/.well-known/runseal-trust.json")
  const textsOf = async (query: string): Promise<readonly string[]> => {
    const answer = await service.request(`/runs/${id}/report.pdf${query}`)
    const pdf = new Uint8Array(await answer.arrayBuffer())
    const pages = hasTool("pdftotext") ? [execFileSync("pdftotext", ["-", "-"], { input: pdf, encoding: "utf8" })] : []
    return [(await verifyWithCli(pdf, trust)).stdout, ...pages].map(text => text.replace(/\s+/g, " "))
  }
  for (const format of ["comprehensive", "brief"])
    for (const text of await textsOf(`?with=witnessed&format=${format}`)) expect(text).toContain(sentence)
  for (const text of await textsOf("")) expect(text).not.toContain("of the log; ")
})

test("so does a published or shared one, and that which an administrator reads", async () => {
  const service = standing()
  const admin = await mint(service, ADMIN)
  const id = numberAt((await admin.post("/execute", request())).body, "run_id")
  await cosign(service)
  const { body } = await admin.post(`/admin/runs/${id}/publish`)
  const path = new URL(textAt(body, "url"), "http://runseal.example").pathname
  const shared = `/shared/${textAt((await admin.post(`/admin/runs/${id}/share`, {})).body, "token")}`
  const everywhere = [
    await admin.get(`/admin/runs/${id}/artifacts?with=witnessed`),
    await service.get(`${path}?with=witnessed`),
    await service.get(`${shared}/bundle.json?with=witnessed`),
  ]
  for (const { text } of everywhere) {
    expect(judged(await reportOf(service, text)).log).toBe("witnessed_log")
    expect(objectAt(JSON.parse(text), "anchors", "witnessed")).toHaveProperty("complete_record")
  }
  for (const refused of [path, `${shared}/bundle.json`, `${shared}/report.pdf`])
    expectRefused(await service.get(`${refused}?with=everything`), 400)
})
