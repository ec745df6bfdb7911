/** The record of a run: docs/api.md, "GET /runs/{id}". Who reads it is in access/. */
import { OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import { describe, expect, test } from "vitest"
import { expectRefused, keysOf, listAt, objectAt, textAt } from "./harness/read-answer.ts"
import { CASES, STATE_OF, standingSevenStates } from "./harness/seven-states.ts"

const { service, answers, runId } = standingSevenStates()

const SUMMARY = [
  ..."id created_at program_id route_id manifest_hash duration_ms status outcome_kind error_stage".split(" "),
  "execution_region",
]
const RECORD = [...SUMMARY, "ok", "payload_hash", "duration_us", "error_message"]

describe.each(CASES)("the record of %s", name => {
  const record = async () => (await service().get(`/runs/${runId(name)}`)).body

  test("has exactly its fields, with the manifest, partial manifest and explanation that the answer has", async () => {
    const answered = ["manifest", "partial_manifest", "explanation"].filter(part =>
      Object.hasOwn(answers()[name].body, part),
    )
    const body = await record()
    expect(keysOf(body)).toEqual([...RECORD, ...answered].sort())
    for (const part of answered) expect(body[part]).toEqual(answers()[name].body[part])
  })

  test("has a status that equals its outcome_kind, and agrees with its summary", async () => {
    const body = await record()
    expect([body.status, body.outcome_kind]).toEqual([STATE_OF[name], STATE_OF[name]])
    const summaries = listAt((await service().get("/runs")).body, "runs")
    const summary = objectAt(summaries.find(run => objectAt(run).id === runId(name)))
    // Of a run that a gate refused it says why.
    const isRefused = OUTCOMES[STATE_OF[name]].words.standing === "refusal"
    expect(keysOf(summary)).toEqual([...SUMMARY, ...(isRefused ? ["explanation"] : [])].toSorted())
    expect(body).toMatchObject(summary)
  })

  test("says where and why it ended, in empty strings for an ok run", async () => {
    const { body } = answers()[name]
    const found = await record()
    expect(found).toMatchObject({
      error_stage: name === "ok" ? "" : body.error_stage,
      duration_ms: body.duration_ms,
    })
    // The answer goes on with what the policy asks for.
    const sealed = textAt(found, "error_message")
    expect(`${body.error ?? ""} `.slice(0, sealed.length + 1)).toBe(`${sealed} `)
  })
})

const PATHS = [
  ...["", "/verify", "/artifacts", "/allow-token", "/deny-receipt", "/ccv-halt-receipt", "/macc-halt-receipt"],
  ...["/aivp-t4-halt-receipt", "/attestation-gap-receipt"],
]
const NO_RUN = [
  "999999",
  "0",
  "-1",
  "1.0",
  "01",
  "1e0",
  "abc",
  "9007199254740993",
  "9007199254740991",
  "1.5",
  "0x10",
  "%31%00",
  "99999999999999999999",
]

describe("a run that does not exist", () => {
  test.each(NO_RUN)("is a 404 everywhere: %s", async id => {
    for (const path of PATHS) expectRefused(await service().get(`/runs/${id}${path}`), 404)
  })
})
