/** Attestations: digests from the caller, anchored in the service's log. docs/api.md, "POST /attest". */
import { type AttestationAnswer, attestationAnswerSchema } from "@runseal/core/artifacts/attestation-answer"
import { ATTESTED_ALGORITHM, type AttestRequest, attestationsPageSchema } from "@runseal/core/wire/attestation-requests"
import { as, onceCall, query, received } from "./calls.ts"
import { ATTESTATION_LISTING, type AttestationList, listItems, type PageOptions } from "./list-pages.ts"
import { jsonText } from "./plain-json.ts"
import type { Received } from "./read-reply.ts"
import type { OnceOptions, Settings } from "./settings.ts"
import type { Send } from "./transport.ts"

/** The arguments of an attestation; `algorithm` is `sha256` when absent. */
export type AttestArguments = Omit<AttestRequest, "algorithm"> & Partial<Pick<AttestRequest, "algorithm">>

export type AttestationCalls = {
  /**
   * Anchors a digest. Save `text`: `verifyBundle` and the command-line verifier verify it offline. Retried only
   * under an idempotency key, since each call makes an attestation. After a NetworkError, TimeoutError or AbortedError one may
   * exist: call again with the same key, or search for it with `attestations`.
   */
  readonly attest: (request: AttestArguments, options?: OnceOptions) => Promise<Received<AttestationAnswer>>
  /** The calling key's attestations, newest first; each can be verified offline. Throws InvalidArgumentError at once. */
  readonly attestations: (options?: PageOptions) => AttestationList
}

export const attestationCalls = (send: Send, settings: Settings): AttestationCalls => ({
  attest: async (request, options) => {
    const body = jsonText({ algorithm: ATTESTED_ALGORITHM, ...request })
    const call = onceCall(settings, "/attest", body, options)
    return await send(call, received(attestationAnswerSchema, 201), options)
  },
  attestations: (options = {}) =>
    listItems(
      ATTESTATION_LISTING,
      (limit, offset) =>
        send(
          { path: `/attestations${query({ limit, offset })}`, repeatable: true },
          as(attestationsPageSchema),
          options,
        ),
      options,
    ),
})
