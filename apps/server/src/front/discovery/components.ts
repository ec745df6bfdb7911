/** Schemas that the document writes once, under a name, and refers to. */
import { adminEventSchema } from "@runseal/core/artifacts/admin-event"
import { receiptLeafSchema, servedReceiptAnchorSchema } from "@runseal/core/artifacts/anchor"
import { attestationAnswerSchema, listedAttestationSchema } from "@runseal/core/artifacts/attestation-answer"
import { bundleSchema, sealedBundleSchema } from "@runseal/core/artifacts/bundle-schema"
import { manifestSchema, partialManifestSchema } from "@runseal/core/artifacts/manifest"
import { openingSchema } from "@runseal/core/artifacts/opening"
import { permitEndSchema } from "@runseal/core/artifacts/permit-end"
import { allowTokenSchema, RECEIPT_SCHEMAS } from "@runseal/core/artifacts/sealed-artifacts"
import { adminPermitSummarySchema, adminRunSummarySchema } from "@runseal/core/wire/admin-answers"
import { attestRequestSchema } from "@runseal/core/wire/attestation-requests"
import {
  observedAnswerSchema,
  okAnswerSchema,
  refusedAnswerSchema,
  stageErrorAnswerSchema,
} from "@runseal/core/wire/execute-answers"
import { attestedContextSchema, executeRequestSchema } from "@runseal/core/wire/execute-request"
import {
  changedKeySchema,
  listedKeySchema,
  mintedKeySchema,
  mintKeyRequestSchema,
  rotatedKeySchema,
} from "@runseal/core/wire/key-requests"
import { trustDocumentSchema } from "@runseal/core/wire/log-answers"
import { openPermitAnswerSchema, permitRecordSchema, permitSummarySchema } from "@runseal/core/wire/permit-answers"
import { closePermitRequestSchema, openPermitRequestSchema } from "@runseal/core/wire/permit-requests"
import {
  checkSchema,
  runRecordSchema,
  runSummarySchema,
  runsPageSchema,
  verifyAnswerSchema,
} from "@runseal/core/wire/run-summaries"
import { errorAnswerSchema, healthAnswerSchema } from "@runseal/core/wire/service-answers"
import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import type { NamedSchemas } from "./json-schema.ts"

export const NAMED_SCHEMAS: NamedSchemas = {
  Error: errorAnswerSchema,
  Health: healthAnswerSchema,
  ExecuteRequest: executeRequestSchema,
  AttestedContext: attestedContextSchema,
  OkAnswer: okAnswerSchema,
  ObservedAnswer: observedAnswerSchema,
  RefusedAnswer: refusedAnswerSchema,
  StageErrorAnswer: stageErrorAnswerSchema,
  OpenPermitRequest: openPermitRequestSchema,
  ClosePermitRequest: closePermitRequestSchema,
  OpenPermitAnswer: openPermitAnswerSchema,
  PermitSummary: permitSummarySchema,
  PermitRecord: permitRecordSchema,
  Opening: openingSchema,
  PermitEnd: permitEndSchema,
  RunSummary: runSummarySchema,
  RunsPage: runsPageSchema,
  RunRecord: runRecordSchema,
  VerifyAnswer: verifyAnswerSchema,
  Check: checkSchema,
  Bundle: sealedBundleSchema,
  FullBundle: bundleSchema,
  Manifest: manifestSchema,
  PartialManifest: partialManifestSchema,
  AllowToken: allowTokenSchema,
  DenyReceipt: RECEIPT_SCHEMAS.deny_receipt,
  CCVHaltReceipt: RECEIPT_SCHEMAS.ccv_halt_receipt,
  MACCHaltReceipt: RECEIPT_SCHEMAS.macc_halt_receipt,
  AivpT4HaltReceipt: RECEIPT_SCHEMAS.aivp_t4_halt_receipt,
  AttestationGapReceipt: RECEIPT_SCHEMAS.attestation_gap_receipt,
  ReceiptAnchor: servedReceiptAnchorSchema,
  ReceiptLeaf: receiptLeafSchema,
  LogEntry: transparencyLogEntrySchema,
  AttestRequest: attestRequestSchema,
  Attestation: attestationAnswerSchema,
  ListedAttestation: listedAttestationSchema,
  MintKeyRequest: mintKeyRequestSchema,
  MintedKey: mintedKeySchema,
  ListedKey: listedKeySchema,
  ChangedKey: changedKeySchema,
  RotatedKey: rotatedKeySchema,
  AdminEvent: adminEventSchema,
  AdminRun: adminRunSummarySchema,
  AdminPermit: adminPermitSummarySchema,
  TrustDocument: trustDocumentSchema,
}
