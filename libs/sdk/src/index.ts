/** Typed client of a Runseal service. */
export type { JsonObject, JsonValue } from "@runseal/canonical"
export type { AdminEvent } from "@runseal/core/artifacts/admin-event"
export type { ServedReceiptAnchor } from "@runseal/core/artifacts/anchor"
export type { AttestationAnswer, ListedAttestation } from "@runseal/core/artifacts/attestation-answer"
export type { Manifest, PartialManifest } from "@runseal/core/artifacts/manifest"
export type {
  AivpT4HaltReceipt,
  AllowToken,
  AttestationGapReceipt,
  CcvHaltReceipt,
  DenyReceipt,
  MaccHaltReceipt,
} from "@runseal/core/artifacts/sealed-artifacts"
export { type ArtifactKey, OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
export type {
  AdminPermitRecord,
  AdminPermitSummary,
  AdminPermitsPage,
  AdminRunRecord,
  AdminRunSummary,
  AdminRunsPage,
  EventsPage,
  KeyUsage,
  ListedEvent,
  PolicyInForce,
  Publication,
  PublicationsPage,
  UsageAnswer,
} from "@runseal/core/wire/admin-answers"
export type { AttentionAnswer } from "@runseal/core/wire/attention-answer"
export type { AttestationsPage } from "@runseal/core/wire/attestation-requests"
export type {
  Delivery,
  DeliveryList,
  ResumedDestination,
  TestedDestination,
} from "@runseal/core/wire/delivery-messages"
export type { ErrorCode } from "@runseal/core/wire/error-codes"
export type {
  ChangeDestinationRequest,
  ChangedDestination,
  CreateDestinationRequest,
  CreatedDestination,
  DeletedDestination,
  Destination,
  DestinationList,
  RotateDestinationRequest,
  RotatedDestination,
  SealedEvent,
} from "@runseal/core/wire/event-messages"
export type {
  ChangedKey,
  ChangeKeyRequest,
  ClaimedRuns,
  KeyList,
  KeyScope,
  KeyTier,
  ListedKey,
  MintedKey,
  MintKeyRequest,
  PublishedRun,
  RevokedKey,
  RotatedKey,
  RotateKeyRequest,
  UnpublishedRun,
} from "@runseal/core/wire/key-requests"
export type {
  GenesisAnswer,
  KeyChangesAnswer,
  OutsideLogsAnswer,
  WitnessesAnswer,
} from "@runseal/core/wire/log-answers"
export type {
  OpenPermitAnswer,
  PermitRecord,
  PermitSummary,
  PermitsPage,
  RedeemPermitAnswer,
} from "@runseal/core/wire/permit-answers"
export type { PermitState } from "@runseal/core/wire/permit-requests"
export type {
  DryRunAnswer,
  FoundPolicy,
  LoadedPolicy,
  PoliciesPage,
  PolicyVersion,
} from "@runseal/core/wire/policy-requests"
export type {
  ArtifactAnswers as ArtifactDocuments,
  DcaeAnswer,
  DeterminismAnswer,
  ReportFormat,
  RunRecord,
  RunSummary,
  RunsPage,
  VerifyAnswer,
} from "@runseal/core/wire/run-summaries"
export type { HealthAnswer, ReadyAnswer } from "@runseal/core/wire/service-answers"
export type { MadeShare, RevokedShare, Share, ShareRequest, SharesPage } from "@runseal/core/wire/share-messages"
export type { DsseEnvelope } from "@runseal/log/entries/dsse"
export type { Checkpoint } from "@runseal/log/notes/checkpoint"
/** Also at `@runseal/permit`, for those who act and need no client. */
export {
  APPROVALS_HEADER,
  approvalsHeader,
  type ExpectedPermit,
  PERMIT_HEADER,
  type PermitClaims,
  type PermitKeys,
  type PermitRefusal,
  type PermitVerdict,
  remoteKeys,
  verifyPermit,
} from "@runseal/permit"
export type { WaitOptions } from "./approval-wait.ts"
export { type Breaker, type Fail, failOf, type Mode, ServiceAwayError } from "./breaker.ts"
export { type AttestArguments, type Client, createClient, type OfAnyKey, type VersionAnswer } from "./client.ts"
export {
  AbortedError,
  BadRequestError,
  ConflictError,
  EndUserTokenError,
  FileError,
  ForbiddenError,
  HttpStatusError,
  InvalidArgumentError,
  NetworkError,
  NotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RateLimitedError,
  RunsealError,
  statusError,
  TimeoutError,
  UnauthorizedError,
  UnavailableError,
  UnsupportedOperationError,
} from "./client-errors.ts"
export type { CallOf, EndpointCalls } from "./endpoint-calls.ts"
export type {
  Approver,
  AttestedContext,
  AuthorizationChain,
  CausalGraph,
  Cost,
  Effect,
  ExecuteRequest,
  HumanInLoop,
  JsonInput,
  JsonInputObject,
  RegulatoryScaffolding,
  RequestSubstance,
  ThresholdCheck,
  TimeInput,
} from "./execute-arguments.ts"
export type { ExecuteResult, RefusedRun } from "./execute-result.ts"
export type { ExportCalls, ExportRange } from "./export-calls.ts"
export type { AttestationList, List, PageOptions, RunFilters, RunList } from "./list-pages.ts"
export { hashFile } from "./local-files.ts"
export { createObserved, flushObserved, type Observed } from "./observed.ts"
export type { PermitClosing, PermitRequest } from "./permit-arguments.ts"
export type {
  CloseOptions,
  DecisionOptions,
  OpenedPermit,
  OpenOptions,
  OpenPermitResult,
  PermitCalls,
  PermitList,
} from "./permit-calls.ts"
export {
  ActFailedError,
  ActTimeoutError,
  ApprovalPending,
  isUnfit,
  OutputRefusedError,
  PermitNotClosedError,
  PermitRefusedError,
  PermitUsedError,
} from "./permit-errors.ts"
export type { Acted, ActivePermit, ActOptions, GuardOptions, PermittedActs, PermittedRun } from "./permitted-act.ts"
export type { Fetch, Platform } from "./platform.ts"
export type { Received } from "./read-reply.ts"
export { parseRetryAfter } from "./retry.ts"
export type { BundleOptions, ReportOptions, RunReads } from "./run-reads.ts"
export {
  type Called,
  type Made,
  type OpenCall,
  type ReportedCall,
  reportedCall,
  type SealedCall,
  type SealOptions,
  sealedCall,
  sealedParts,
} from "./sealed-call.ts"
export {
  type ActionOptions,
  type CallOptions,
  type ClientOptions,
  createBreaker,
  type EndUserOption,
  type EndUserToken,
  type OnceOptions,
} from "./settings.ts"
/** Also at `@runseal/sdk/verify`, without the client. */
export {
  type Check,
  COMPLETENESS_VERDICTS,
  type Completeness,
  type CompletenessProblem,
  type CompletenessVerdict,
  isUnreadable,
  type Limitation,
  type Report,
  type Unreadable,
  VERDICTS,
  type Verdict,
  verifyBundle,
  verifyExport,
} from "./verify.ts"
