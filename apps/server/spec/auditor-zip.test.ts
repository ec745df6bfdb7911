/** docs/api.md, "GET /runs/{id}/auditor.zip". */
import { generateKeyPairSync, sign } from "node:crypto"
import { cosignatureLine } from "@runseal/log/entries/log-signing"
import { noteKey, parseNote } from "@runseal/log/notes/signed-note"
import { strFromU8, unzipSync } from "fflate"
import { expect, test } from "vitest"
import { keepWitnessed } from "../src/store/tables/witnessed-checkpoint.ts"
import { numberAt } from "./harness/read-answer.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"
import { verifyWithCli } from "./harness/verifier.ts"

const service = standingService()

const zipOf = async (run: number): Promise<Response> => {
  const answer = await service().request(`/runs/${run}/auditor.zip`)
  expect(answer.status).toBe(200)
  return answer
}
const bytesOf = async (run: number): Promise<Uint8Array> => new Uint8Array(await (await zipOf(run)).arrayBuffer())

test("the file is saved under the run's number, verifies as it is, and is the same each time", async () => {
  const run = numberAt((await service().execute(request({ payload: EICAR }))).body, "run_id")
  const answer = await zipOf(run)
  expect(answer.headers.get("content-type")).toBe("application/zip")
  expect(answer.headers.get("content-disposition")).toBe(`attachment; filename="runseal-run-${run}-auditor.zip"`)
  const bytes = new Uint8Array(await answer.arrayBuffer())
  expect(await bytesOf(run)).toEqual(bytes)

  const { text: trust } = await service().get("/.well-known/runseal-trust.json")
  const verified = await verifyWithCli(bytes, trust)
  expect(verified).toMatchObject({ exit: 0, verdict: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED" })
  expect(verified.stdout).toContain("report.pdf verifies, and carries the record of bundle.json")
  expect(verified.stderr).toContain("your keys are the same as those of trust.json in the ZIP")
})

test("it holds what the service has, byte for byte, and says how to verify it", async () => {
  const run = numberAt((await service().execute(request())).body, "run_id")
  const entries = unzipSync(await bytesOf(run))
  expect(Object.keys(entries)).toEqual(["HOW-TO-VERIFY.txt", "bundle.json", "report.pdf", "trust.json"])
  const textIn = (name: string): string => strFromU8(entries[name] ?? new Uint8Array())
  expect(textIn("bundle.json")).toBe((await service().get(`/runs/${run}/artifacts`)).text)
  expect(textIn("trust.json")).toBe((await service().get("/.well-known/runseal-trust.json")).text)
  const report = await service().request(`/runs/${run}/report.pdf?format=auditor`)
  expect(entries["report.pdf"]).toEqual(new Uint8Array(await report.arrayBuffer()))
  expect(textIn("HOW-TO-VERIFY.txt")).toContain(`verifier runseal-run-${run}-auditor.zip`)
  expect(textIn("HOW-TO-VERIFY.txt")).toContain("Keys that come with a record prove nothing about who made it")
  expect(textIn("HOW-TO-VERIFY.txt")).toMatch(
    /trust show trust\.json[\s\S]*If one differs, stop[\s\S]*trust add trust\.json/,
  )
  expect(textIn("HOW-TO-VERIFY.txt")).toContain("No witness has signed this log.")
})

test("with witnesses it holds what they signed, beside the record and in it", async () => {
  const run = numberAt((await service().execute(request())).body, "run_id")
  const pair = generateKeyPairSync("ed25519")
  const raw = new Uint8Array(pair.publicKey.export({ type: "spki", format: "der" }).subarray(-32))
  const witness = noteKey("witness.example", "cosignature/v1", raw)
  const { text: signed } = await service().get("/log/checkpoint")
  const text = parseNote(signed)?.text ?? ""
  const line = cosignatureLine(witness, 1_768_500_000, text, message => sign(null, message, pair.privateKey))
  await keepWitnessed(service().db, { size: Number(text.split("\n")[1]), checkpoint: `${signed}${line}` })

  const entries = unzipSync(await bytesOf(run))
  expect(strFromU8(entries["checkpoint.txt"] ?? new Uint8Array())).toBe(`${signed}${line}`)
  expect(strFromU8(entries["bundle.json"] ?? new Uint8Array())).toBe(
    (await service().get(`/runs/${run}/artifacts?with=witnessed`)).text,
  )
  expect(strFromU8(entries["HOW-TO-VERIFY.txt"] ?? new Uint8Array())).toContain("shows that this tree has the record")
  const later = numberAt((await service().execute(request())).body, "run_id")
  expect(strFromU8(unzipSync(await bytesOf(later))["HOW-TO-VERIFY.txt"] ?? new Uint8Array())).toContain(
    "does not have this record yet",
  )
})
