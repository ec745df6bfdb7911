/** Execution manifest and partial manifest. docs/formats.md section 6. */
import * as v from "valibot"
import { KERNELS } from "../vocabulary/outcomes.ts"
import { reviewAdapterSchema } from "../vocabulary/review-codes.ts"
import {
  countSchema,
  decimalSchema,
  envelopeIdSchema,
  regionSchema,
  type Shape,
  sequenceIdSchema,
  sha256Schema,
} from "../vocabulary/scalars.ts"
import { FORMULA_VERSION, LEDGER_BACKEND } from "../vocabulary/versions.ts"

const executionIds = v.pipe(v.array(sha256Schema), v.length(KERNELS.length))

/** Both at a close, and in no other manifest. */
const ofClose = { PermitHash: v.exactOptional(sha256Schema), ClosingHash: v.exactOptional(sha256Schema) }

export const manifestSchema = v.strictObject({
  EnvelopeID: envelopeIdSchema,
  EnvelopeHash: sha256Schema,
  SequenceID: sequenceIdSchema,
  TransportHash: sha256Schema,
  EpaHash: sha256Schema,
  EfaHash: sha256Schema,
  ExecutionIDs: executionIds,
  AerHash: sha256Schema,
  TranscriptHash: sha256Schema,
  HardwareAttestationHash: sha256Schema,
  LeakageBundleHash: sha256Schema,
  FormalVerifierStatus: v.literal("TRACE_VERIFIED"),
  ZkspBindingHash: sha256Schema,
  MigrationTokenHash: sha256Schema,
  ReplayFingerprint: sha256Schema,
  PoteProofHash: sha256Schema,
  /** Global index of the pre-anchor entry, decimal. */
  LogEntryID: decimalSchema,
  RegistryArtifactCount: countSchema,
  FinalVfaHash: sha256Schema,
  IndependentVerified: v.boolean(),
  DseCommitmentHash: sha256Schema,
  TokOrderingHash: sha256Schema,
  DscFinalStateHash: sha256Schema,
  PayloadHash: sha256Schema,
  ...ofClose,
  PolicyHash: sha256Schema,
  AllowTokenHash: sha256Schema,
  AivpOutcome: v.literal("release"),
  AivpReviewHash: sha256Schema,
  AivpAdapterID: reviewAdapterSchema,
  AivpAiOutputHash: v.exactOptional(sha256Schema),
  ExecutionRegion: regionSchema,
  LedgerBackend: v.literal(LEDGER_BACKEND),
  LedgerLogID: sha256Schema,
  LedgerLeafHash: sha256Schema,
  FormulaVersion: v.literal(FORMULA_VERSION),
  ManifestHash: sha256Schema,
})
/** Fields in their order, the seal last. */
export type Manifest = Shape<typeof manifestSchema>

export const partialManifestSchema = v.strictObject({
  EnvelopeID: envelopeIdSchema,
  EnvelopeHash: sha256Schema,
  SequenceID: sequenceIdSchema,
  TransportHash: sha256Schema,
  PayloadHash: sha256Schema,
  ...ofClose,
  PolicyHash: sha256Schema,
  AllowTokenHash: v.exactOptional(sha256Schema),
  ExecutionIDs: v.exactOptional(executionIds),
  EfaHash: v.exactOptional(sha256Schema),
  PepgOutcome: v.exactOptional(v.literal("deny")),
  CcvOutcome: v.exactOptional(v.literal("halted")),
  MaccOutcome: v.exactOptional(v.literal("halted")),
  AivpT4Outcome: v.exactOptional(v.literal("halted")),
  ReceiptHash: sha256Schema,
  ExecutionRegion: regionSchema,
  FormulaVersion: v.literal(FORMULA_VERSION),
  ManifestHash: sha256Schema,
})
export type PartialManifest = Shape<typeof partialManifestSchema>
