/** Attestations: digests of the caller's own, anchored in the service's log. docs/api.md, "POST /attest". */
import { type AttestationAnswer, attestationAnswerSchema } from "@runseal/core/artifacts/attestation-answer"
import { ATTESTED_ALGORITHM, type AttestRequest, attestationsPageSchema } from "@runseal/core/wire/attestation-requests"
import { as, jsonText, onceCall, query, received } from "./calls.ts"
import { ATTESTATION_LISTING, type AttestationPages, listPages, type PageOptions } from "./list-pages.ts"
import type { Received } from "./read-reply.ts"
import type { OnceOptions, Settings } from "./settings.ts"
import type { Send } from "./transport.ts"

/** What is attested; `algorithm` is `sha256` when absent. */
export type AttestArguments = Omit<AttestRequest, "algorithm"> & Partial<Pick<AttestRequest, "algorithm">>

export type AttestationCalls = {
  /**
   * Anchors a digest. Save `text`: it verifies by itself, with `verifyBundle` or the command-line verifier. Repeated under an
   * idempotency key only, since each call makes an attestation; after a NetworkError, TimeoutError or AbortedError one may
   * exist: call again with the same key, or look with `attestations`.
   */
  readonly attest: (request: AttestArguments, options?: OnceOptions) => Promise<Received<AttestationAnswer>>
  /** The calling key's attestations, newest first; each is a document that verifies by itself. Throws InvalidArgumentError at once. */
  readonly attestations: (options?: PageOptions) => AttestationPages
}

export const attestationCalls = (send: Send, settings: Settings): AttestationCalls => ({
  attest: async (request, options) => {
    const body = jsonText({ algorithm: ATTESTED_ALGORITHM, ...request })
    const call = onceCall(settings, "/attest", body, options)
    return await send(call, received(attestationAnswerSchema, 201), options)
  },
  attestations: (options = {}) =>
    listPages(
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
