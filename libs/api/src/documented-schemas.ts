/** Bodies of which the OpenAPI document says more than their endpoints judge by themselves. */
import { attestationAnswerSchema, listedAttestationSchema } from "@runseal/core/artifacts/attestation-answer"
import { bundleSchema, sealedBundleSchema } from "@runseal/core/artifacts/bundle-schema"
import { CHAIN_DOCUMENTS } from "@runseal/core/artifacts/chain-documents"
import { exportStatementSchema } from "@runseal/core/artifacts/export-statement"
import { policyDocumentSchema } from "@runseal/core/wire/policy-document-schema"
import { dryRunRequestSchema, loadPolicyRequestSchema } from "@runseal/core/wire/policy-requests"
import { ARTIFACT_ANSWERS } from "@runseal/core/wire/run-summaries"
import { dsseEnvelopeSchema } from "@runseal/log/entries/dsse"
import * as v from "valibot"

const { allow_token: _token, ...RECEIPT_ANSWERS } = ARTIFACT_ANSWERS
const { Opening, ...OTHERS } = CHAIN_DOCUMENTS
/** Every kind of document, as `readDocument` knows them. */
const anyDocumentSchema = v.union([
  sealedBundleSchema,
  bundleSchema,
  ...Object.values(RECEIPT_ANSWERS),
  attestationAnswerSchema,
  listedAttestationSchema,
  Opening,
  /** The answer on a permit that has not ended. */
  v.looseObject({ permit_id: v.unknown(), opening: Opening, end: v.exactOptional(v.never()) }),
  ...Object.values(OTHERS),
  exportStatementSchema,
  dsseEnvelopeSchema,
])
export const documentSchema = v.pipe(
  anyDocumentSchema,
  v.description(
    "A document of this service. Any other document is a 400; one that does not verify is a 200 with that verdict.",
  ),
)

/** Conditions are Cedar expressions over `context`. */
const policy = policyDocumentSchema
export const loadPolicySchema = v.strictObject({ ...loadPolicyRequestSchema.entries, policy })
export const dryRunSchema = v.strictObject({ ...dryRunRequestSchema.entries, policy })
