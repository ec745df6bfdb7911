/** Execution manifest and partial manifest. docs/formats.md section 6. */
import * as v from "valibot"
import { KERNELS } from "../vocabulary/outcomes.ts"
import { type ReviewAdapter, reviewAdapterSchema } from "../vocabulary/review-codes.ts"
import {
  countSchema,
  decimalSchema,
  envelopeIdSchema,
  regionSchema,
  sequenceIdSchema,
  sha256Schema,
} from "../vocabulary/scalars.ts"
import { FORMULA_VERSION, LEDGER_BACKEND } from "../vocabulary/versions.ts"

/** Fields in their order, the seal last. */
export type Manifest = {
  readonly EnvelopeID: string
  readonly EnvelopeHash: string
  readonly SequenceID: string
  readonly TransportHash: string
  readonly EpaHash: string
  readonly EfaHash: string
  readonly ExecutionIDs: readonly string[]
  readonly AerHash: string
  readonly TranscriptHash: string
  readonly HardwareAttestationHash: string
  readonly LeakageBundleHash: string
  readonly FormalVerifierStatus: "TRACE_VERIFIED"
  readonly ZkspBindingHash: string
  readonly MigrationTokenHash: string
  readonly ReplayFingerprint: string
  readonly PoteProofHash: string
  /** Global index of the pre-anchor entry, decimal. */
  readonly LogEntryID: string
  readonly RegistryArtifactCount: number
  readonly FinalVfaHash: string
  readonly IndependentVerified: boolean
  readonly DseCommitmentHash: string
  readonly TokOrderingHash: string
  readonly DscFinalStateHash: string
  readonly PayloadHash: string
  readonly PolicyHash: string
  readonly AllowTokenHash: string
  readonly AivpOutcome: "release"
  readonly AivpReviewHash: string
  readonly AivpAdapterID: ReviewAdapter
  readonly AivpAiOutputHash?: string
  readonly ExecutionRegion: string
  readonly LedgerBackend: typeof LEDGER_BACKEND
  readonly LedgerLogID: string
  readonly LedgerLeafHash: string
  readonly FormulaVersion: typeof FORMULA_VERSION
  readonly ManifestHash: string
}

export type PartialManifest = {
  readonly EnvelopeID: string
  readonly EnvelopeHash: string
  readonly SequenceID: string
  readonly TransportHash: string
  readonly PayloadHash: string
  readonly PolicyHash: string
  readonly AllowTokenHash?: string
  readonly ExecutionIDs?: readonly string[]
  readonly EfaHash?: string
  readonly PepgOutcome?: "deny"
  readonly CcvOutcome?: "halted"
  readonly MaccOutcome?: "halted"
  readonly AivpT4Outcome?: "halted"
  readonly ReceiptHash: string
  readonly ExecutionRegion: string
  readonly FormulaVersion: typeof FORMULA_VERSION
  readonly ManifestHash: string
}

const executionIds = v.pipe(v.array(sha256Schema), v.length(KERNELS.length))

export const manifestSchema: v.GenericSchema<unknown, Manifest> = v.strictObject({
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
  LogEntryID: decimalSchema,
  RegistryArtifactCount: countSchema,
  FinalVfaHash: sha256Schema,
  IndependentVerified: v.boolean(),
  DseCommitmentHash: sha256Schema,
  TokOrderingHash: sha256Schema,
  DscFinalStateHash: sha256Schema,
  PayloadHash: sha256Schema,
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

export const partialManifestSchema: v.GenericSchema<unknown, PartialManifest> = v.strictObject({
  EnvelopeID: envelopeIdSchema,
  EnvelopeHash: sha256Schema,
  SequenceID: sequenceIdSchema,
  TransportHash: sha256Schema,
  PayloadHash: sha256Schema,
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
