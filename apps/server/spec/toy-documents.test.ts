/** What service, OpenAPI document and client make of a kind of document by its rows. What verifiers make of it: libs/core/test/toy-kind.test.ts. */
import { openApiDocument } from "@runseal/api/openapi/openapi-document"
import { canonicalize, parseStrictJson } from "@runseal/canonical"
import { CHAIN_DOCUMENTS } from "@runseal/core/artifacts/chain-documents"
import { EVENTS } from "@runseal/core/event-forms/sealed-events"
import { KINDS } from "@runseal/core/verify/document"
import * as v from "valibot"
import { describe, expect, test } from "vitest"
import { requestApproval } from "../../../libs/core/test/fixtures/asked-approvals.ts"
import { makeDeployment } from "../../../libs/core/test/fixtures/deployment.ts"
import { endPermits, openPermit } from "../../../libs/core/test/fixtures/permits.ts"
import { sealEvent } from "../../../libs/core/test/fixtures/sample-admin-events.ts"
import { sealToy, TOY, TOY_EVENT } from "../../../libs/core/test/fixtures/toy-kind.ts"
import { ASKED } from "../../../libs/core/test/fixtures/vectors/asked-transfer.ts"
import { lenient } from "../../../libs/sdk/src/lenient.ts"
import { eventsOf } from "../src/events/sealed-event.ts"
import { countsByKind } from "../src/sealing/seal-export-statement.ts"
import { StoreError } from "../src/store/driver/store-errors.ts"
import { at } from "./harness/read-answer.ts"

const toy = sealToy(makeDeployment())
const place = { log_index: 7, owner: 2, chain_ordinal: 1, leaf_digest: "1".repeat(64), findings: "", manifest_hash: "" }
const stored = { ...place, kind: "toy", text: canonicalize(toy) }

describe("a toy kind", () => {
  test("is in the event stream by its row, and nothing without it", () => {
    const rows = [...EVENTS, TOY_EVENT]
    expect(eventsOf([stored], rows)).toMatchObject([{ type: "toy.sealed", position: 7, data: { name: "bear" } }])
    expect(eventsOf([stored])).toEqual([])
    expect(() => eventsOf([{ ...stored, text: "{}" }], rows)).toThrow(StoreError)
  })

  test("is counted in the statement of an export under the name that its row has", () => {
    const found = new Map([
      ["toy", 2],
      ["opening", 1],
      ["permit_end", 1],
    ])
    const counts = countsByKind(found, { first: 4, last: 10 }, [...KINDS, TOY])
    expect(counts).toEqual({ records: 3, openings: 1, ends: 3, events: 0, requests: 0 })
  })
})

const deployment = makeDeployment()
const opened = openPermit(deployment)
const DOCUMENTS: { readonly [Name in keyof typeof CHAIN_DOCUMENTS]: object } = {
  Opening: opened.opening,
  PermitEnd: endPermits(deployment, [opened]),
  ApprovalRequest: requestApproval(deployment, ASKED).request,
  AdminEvent: sealEvent(deployment),
}

describe.each(Object.entries(DOCUMENTS))("%s of the table of chain documents", (name, document) => {
  const openapi = parseStrictJson(JSON.stringify(openApiDocument("1.0.0")))
  const schema = new Map<string, v.GenericSchema>(Object.entries(CHAIN_DOCUMENTS)).get(name) ?? v.never()

  test("has a name in the OpenAPI document, and is among the documents that are verified", () => {
    expect(at(openapi, "components", "schemas", name)).toMatchObject({ type: "object", additionalProperties: false })
    const ways = at(openapi, "components", "schemas", "Document", "anyOf")
    expect(ways).toContainEqual({ $ref: `#/components/schemas/${name}` })
  })

  test("is read strictly by clients, in an answer that may have more members", () => {
    const answer = lenient(v.strictObject({ document: schema }))
    expect(v.safeParse(answer, { document, later: 1 }).success).toBe(true)
    expect(v.safeParse(answer, { document: { ...document, later: 1 } }).success).toBe(false)
  })
})
