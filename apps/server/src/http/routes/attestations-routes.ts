/** `POST /attest` and `GET /attestations`. docs/api.md, "POST /attest" and "GET /attestations". */
import { parseStrictJson } from "@runseal/canonical"
import {
  type AttestationAnswer,
  attestationAnswerSchema,
  type ListedAttestation,
  listedAttestation,
} from "@runseal/core/artifacts/attestation-answer"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { type AttestationsPage, attestRequestSchema } from "@runseal/core/wire/attestation-requests"
import type { Deps } from "../../deps.ts"
import { type AttestationPage, findAttestation, listAttestations } from "../../store/tables/attestations-table.ts"
import { keyCallerOf } from "../access/caller.ts"
import { claimOf, replayedField } from "../access/idempotency.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { readJsonBody } from "../json-body.ts"
import { asPage, type Page } from "../query.ts"
import { readStoredBody } from "../request-bodies.ts"
import { untilOutside } from "./run-answer.ts"

/** @throws Error when the stored text is no attestation: the database was changed from outside */
function storedAnswer(document: string): AttestationAnswer {
  const stored = parseExact(attestationAnswerSchema, parseStrictJson(document))
  if (!stored.ok) throw new Error("a stored attestation is unreadable")
  return stored.value
}

const listed = (document: string): ListedAttestation => listedAttestation(storedAnswer(document))

/** Waits until the outside log holds the attestation's entry, in sync mode. @throws HttpError 503 */
async function untilAnchored(deps: Deps, document: string): Promise<void> {
  if (deps.outside?.log.mode !== "sync") return
  const { attestation_id, log_entry_id } = storedAnswer(document)
  await untilOutside(deps, `Attestation ${attestation_id}`, Number(log_entry_id))
}

const pageAnswer = ({ total, documents }: AttestationPage, { limit, offset }: Page): AttestationsPage => ({
  ok: true,
  total,
  limit,
  offset,
  attestations: documents.map(listed),
})

export function attestationRoutes(deps: Deps): Handlers {
  return {
    attest: async c => {
      const { bytes, object } = await readJsonBody(c)
      const claim = claimOf(c, bytes)
      const owner = keyCallerOf(c).api_key_id
      const attest = async (): Promise<string> =>
        (await deps.attest(owner, readStoredBody(attestRequestSchema, object), claim)).text
      const settled = await deps.idempotencyKeys.once(claim, attest)
      // The stored bytes: the caller saves what was verified before it was committed.
      const text = "made" in settled ? settled.made : await findAttestation(deps.db, owner, settled.record_id)
      await untilAnchored(deps, text)
      return c.body(text, 201, { "Content-Type": "application/json", ...replayedField(settled) })
    },
    attestations: async (c, { query }) => {
      const page = asPage(query())
      return c.json(pageAnswer(await listAttestations(deps.db, keyCallerOf(c).api_key_id, page), page))
    },
  }
}
