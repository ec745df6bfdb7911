/**
 * Schemas that the document writes once, under a name, and refers to: every request, every answer, and what they share. Clients make
 * their types from these names, which are those of the TypeScript types.
 */
import { receiptLeafSchema, servedReceiptAnchorSchema } from "@runseal/core/artifacts/anchor"
import { attestationAnswerSchema, listedAttestationSchema } from "@runseal/core/artifacts/attestation-answer"
import { bundleSchema, sealedBundleSchema } from "@runseal/core/artifacts/bundle-schema"
import { CHAIN_DOCUMENTS } from "@runseal/core/artifacts/chain-documents"
import { explanationSchema, listedExplanationSchema, readValueSchema } from "@runseal/core/artifacts/explanation"
import { manifestSchema, partialManifestSchema } from "@runseal/core/artifacts/manifest"
import { allowTokenSchema, RECEIPT_SCHEMAS } from "@runseal/core/artifacts/sealed-artifacts"
import { neededApprovalSchema } from "@runseal/core/artifacts/sealed-sections"
import * as admin from "@runseal/core/wire/admin-answers"
import * as approvals from "@runseal/core/wire/approval-answers"
import { decideApprovalRequestSchema } from "@runseal/core/wire/approval-requests"
import { attentionAnswerSchema } from "@runseal/core/wire/attention-answer"
import { attestationsPageSchema, attestRequestSchema } from "@runseal/core/wire/attestation-requests"
import * as deliveries from "@runseal/core/wire/delivery-messages"
import * as events from "@runseal/core/wire/event-messages"
import * as execute from "@runseal/core/wire/execute-answers"
import { attestedContextSchema, executeRequestSchema } from "@runseal/core/wire/execute-request"
import { claudeCodeHookAnswerSchema, claudeCodeHookSchema } from "@runseal/core/wire/hook-requests"
import * as keys from "@runseal/core/wire/key-requests"
import * as log from "@runseal/core/wire/log-answers"
import { overviewAnswerSchema } from "@runseal/core/wire/overview-answer"
import {
  enrolPasskeyRequestSchema,
  passkeyAnswerSchema,
  passkeyListSchema,
  passkeySummarySchema,
} from "@runseal/core/wire/passkey-messages"
import * as permits from "@runseal/core/wire/permit-answers"
import * as permitRequests from "@runseal/core/wire/permit-requests"
import { policyDocumentSchema } from "@runseal/core/wire/policy-document-schema"
import * as policies from "@runseal/core/wire/policy-requests"
import * as runs from "@runseal/core/wire/run-summaries"
import * as service from "@runseal/core/wire/service-answers"
import * as sessions from "@runseal/core/wire/session-requests"
import * as shares from "@runseal/core/wire/share-messages"
import { dsseEnvelopeSchema } from "@runseal/log/entries/dsse"
import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import { documentSchema, dryRunSchema, loadPolicySchema } from "../documented-schemas.ts"
import { openApiDocumentSchema } from "../endpoints/service-endpoints.ts"
import { tracesAnswerSchema, tracesRequestSchema } from "../endpoints/traces-endpoints.ts"
import type { NamedSchemas } from "./json-schema.ts"

const IN_ORDER: NamedSchemas = {
  Error: service.errorAnswerSchema,
  Health: service.healthAnswerSchema,
  ReadyAnswer: service.readyAnswerSchema,
  VersionAnswer: service.versionAnswerSchema,
  IndexAnswer: service.indexAnswerSchema,
  OpenApiDocument: openApiDocumentSchema,
  ExecuteRequest: executeRequestSchema,
  AttestedContext: attestedContextSchema,
  ExecuteAnswer: execute.executeAnswerSchema,
  OkAnswer: execute.okAnswerSchema,
  ObservedAnswer: execute.observedAnswerSchema,
  RefusedAnswer: execute.refusedAnswerSchema,
  FailedAnswer: execute.failedAnswerSchema,
  Explanation: explanationSchema,
  ListedExplanation: listedExplanationSchema,
  ReadValue: readValueSchema,
  StageErrorAnswer: execute.stageErrorAnswerSchema,
  DeterminismAnswer: runs.determinismAnswerSchema,
  OpenPermitRequest: permitRequests.openPermitRequestSchema,
  ClosePermitRequest: permitRequests.closePermitRequestSchema,
  RedeemPermitRequest: permitRequests.redeemPermitRequestSchema,
  OpenPermitAnswer: permits.openPermitAnswerSchema,
  RedeemPermitAnswer: permits.redeemPermitAnswerSchema,
  PermitSummary: permits.permitSummarySchema,
  PermitsPage: permits.permitsPageSchema,
  PermitRecord: permits.permitRecordSchema,
  Jwks: permits.jwksSchema,
  ApprovalRequest: CHAIN_DOCUMENTS.ApprovalRequest,
  NeededApproval: neededApprovalSchema,
  ApprovalDecision: approvals.shownDecisionSchema,
  ApprovalRejection: approvals.rejectionSchema,
  ApprovalSummary: approvals.approvalSummarySchema,
  ApprovalsPage: approvals.approvalsPageSchema,
  ApprovalRecord: approvals.approvalRecordSchema,
  DecideApprovalRequest: decideApprovalRequestSchema,
  EnrolPasskeyRequest: enrolPasskeyRequestSchema,
  PasskeySummary: passkeySummarySchema,
  PasskeyAnswer: passkeyAnswerSchema,
  PasskeyList: passkeyListSchema,
  DecidedApproval: approvals.decidedApprovalSchema,
  AskedApprovalAnswer: approvals.askedApprovalAnswerSchema,
  ClaudeCodeHook: claudeCodeHookSchema,
  ClaudeCodeHookAnswer: claudeCodeHookAnswerSchema,
  Opening: CHAIN_DOCUMENTS.Opening,
  PermitEnd: CHAIN_DOCUMENTS.PermitEnd,
  RunSummary: runs.runSummarySchema,
  RunWho: runs.runWhoSchema,
  RunsPage: runs.runsPageSchema,
  RunRecord: runs.runRecordSchema,
  VerifyAnswer: runs.verifyAnswerSchema,
  DcaeAnswer: runs.dcaeAnswerSchema,
  Check: runs.checkSchema,
  Document: documentSchema,
  BundleAnswer: runs.bundleAnswerSchema,
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
  AllowTokenAnswer: runs.ARTIFACT_ANSWERS.allow_token,
  DenyReceiptAnswer: runs.ARTIFACT_ANSWERS.deny_receipt,
  CCVHaltReceiptAnswer: runs.ARTIFACT_ANSWERS.ccv_halt_receipt,
  MACCHaltReceiptAnswer: runs.ARTIFACT_ANSWERS.macc_halt_receipt,
  AivpT4HaltReceiptAnswer: runs.ARTIFACT_ANSWERS.aivp_t4_halt_receipt,
  AttestationGapReceiptAnswer: runs.ARTIFACT_ANSWERS.attestation_gap_receipt,
  DsseEnvelope: dsseEnvelopeSchema,
  ReceiptAnchor: servedReceiptAnchorSchema,
  ReceiptLeaf: receiptLeafSchema,
  LogEntry: transparencyLogEntrySchema,
  AttestRequest: attestRequestSchema,
  Attestation: attestationAnswerSchema,
  ListedAttestation: listedAttestationSchema,
  AttestationsPage: attestationsPageSchema,
  MintKeyRequest: keys.mintKeyRequestSchema,
  MintedKey: keys.mintedKeySchema,
  ListedKey: keys.listedKeySchema,
  KeyList: keys.keyListSchema,
  ChangeKeyRequest: keys.changeKeyRequestSchema,
  ChangedKey: keys.changedKeySchema,
  RotateKeyRequest: keys.rotateKeyRequestSchema,
  RotatedKey: keys.rotatedKeySchema,
  RevokedKey: keys.revokedKeySchema,
  ClaimRequest: keys.claimRequestSchema,
  ClaimedRuns: keys.claimedRunsSchema,
  PublishedRun: keys.publishedRunSchema,
  UnpublishedRun: keys.unpublishedRunSchema,
  ShareRequest: shares.shareRequestSchema,
  MadeShare: shares.madeShareSchema,
  Share: shares.shareSchema,
  SharesPage: shares.sharesPageSchema,
  RevokedShare: shares.revokedShareSchema,
  PolicyDocument: policyDocumentSchema,
  LoadPolicyRequest: loadPolicySchema,
  FoundPolicy: policies.foundPolicySchema,
  LoadedPolicy: policies.loadedPolicySchema,
  PolicyProposal: policies.policyProposalSchema,
  PolicyVersion: policies.policyVersionSchema,
  PoliciesPage: policies.policiesPageSchema,
  PolicyInForce: admin.policyInForceSchema,
  DryRunRequest: dryRunSchema,
  DryRunAnswer: policies.dryRunAnswerSchema,
  Judgement: policies.judgementSchema,
  AdminRunSummary: admin.adminRunSummarySchema,
  AdminRunsPage: admin.adminRunsPageSchema,
  AdminRunRecord: admin.adminRunRecordSchema,
  AdminPermitSummary: admin.adminPermitSummarySchema,
  AdminPermitsPage: admin.adminPermitsPageSchema,
  AdminPermitRecord: admin.adminPermitRecordSchema,
  Publication: admin.publicationSchema,
  PublicationsPage: admin.publicationsPageSchema,
  OutcomeCounts: admin.outcomeCountsSchema,
  KeyUsage: admin.keyUsageSchema,
  UsageAnswer: admin.usageAnswerSchema,
  OverviewAnswer: overviewAnswerSchema,
  AttentionAnswer: attentionAnswerSchema,
  AdminEvent: CHAIN_DOCUMENTS.AdminEvent,
  ListedEvent: admin.listedEventSchema,
  EventsPage: admin.eventsPageSchema,
  TracesRequest: tracesRequestSchema,
  TracesAnswer: tracesAnswerSchema,
  OpenSessionRequest: sessions.openSessionRequestSchema,
  SessionAnswer: sessions.sessionAnswerSchema,
  SessionPerson: sessions.sessionPersonSchema,
  StartSignInRequest: sessions.startSignInRequestSchema,
  StartedSignIn: sessions.startedSignInSchema,
  FinishSignInRequest: sessions.finishSignInRequestSchema,
  FinishedSignIn: sessions.finishedSignInSchema,
  ClosedSession: sessions.closedSessionSchema,
  CreateDestinationRequest: events.createDestinationRequestSchema,
  CreatedDestination: events.createdDestinationSchema,
  Destination: events.destinationSchema,
  DestinationList: events.destinationListSchema,
  ChangeDestinationRequest: events.changeDestinationRequestSchema,
  ChangedDestination: events.changedDestinationSchema,
  DeletedDestination: events.deletedDestinationSchema,
  RotateDestinationRequest: events.rotateDestinationRequestSchema,
  RotatedDestination: events.rotatedDestinationSchema,
  ResumeDestinationRequest: events.resumeDestinationRequestSchema,
  ResumedDestination: deliveries.resumedDestinationSchema,
  TestedDestination: deliveries.testedDestinationSchema,
  Delivery: deliveries.deliverySchema,
  DeliveryList: deliveries.deliveryListSchema,
  GenesisAnswer: log.genesisAnswerSchema,
  KeyChangesAnswer: log.keyChangesAnswerSchema,
  LogEntryAnswer: log.logEntryAnswerSchema,
  ConsistencyAnswer: log.consistencyAnswerSchema,
  OutsideStanding: log.outsideStandingSchema,
  OutsideLogsAnswer: log.outsideLogsAnswerSchema,
  WitnessesAnswer: log.witnessesAnswerSchema,
  TrustDocument: log.trustDocumentSchema,
  TrustedRoot: log.trustedRootSchema,
}

/** The order of the others is published. A kind of document that has no place among them comes last. */
export const NAMED_SCHEMAS: NamedSchemas = { ...IN_ORDER, ...CHAIN_DOCUMENTS }
