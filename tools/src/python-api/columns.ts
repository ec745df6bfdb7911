/**
 * What the OpenAPI document does not say of the Python client: names, which answers are documents, which members are secrets. Everything
 * else of the generated files follows from the document.
 */

/** Methods with another name than their operation. */
export const METHOD_NAMES: Readonly<Record<string, string>> = {
  dcae_verify: "verify_by_service",
  permit: "get_permit",
  approval: "get_approval",
  search_runs: "runs",
  export_runs: "export",
  verify_run: "check_run",
  artifacts: "bundle",
  run_statement: "statement",
  mint_key: "make_key",
  list_keys: "keys",
  publish_run: "publish",
  unpublish_run: "unpublish",
  share_run: "share",
  list_policies: "policies",
  admin_runs: "all_runs",
  admin_export_runs: "export_of_key",
  admin_run: "any_run",
  admin_verify_run: "check_any_run",
  admin_artifacts: "any_bundle",
  admin_report: "any_report",
  admin_auditor_zip: "any_auditor_zip",
  admin_run_statement: "any_statement",
  admin_artifact: "any_artifact",
  admin_permits: "all_permits",
  admin_permit: "any_permit",
  show_session: "session",
  create_destination: "make_destination",
  list_destinations: "destinations",
  rotate_destination_secret: "rotate_destination",
  log_consistency: "consistency",
  trust: "trust_document",
  index: "about",
}

/** Operations that are no method, and why. */
export const NO_METHOD: Readonly<Record<string, string>> = {
  runs: "search_runs without a filter answers the same",
  hook_claude_code: "Claude Code calls it",
  export_traces: "exporters of OpenTelemetry call it",
  start_sign_in: "the console calls it, with a browser",
  finish_sign_in: "the console calls it, with a browser",
  enrol_passkey: "the console calls it, with a browser that signs",
  confirm_passkey: "the console calls it: people alone confirm",
  console: "a page",
  console_page: "a page",
  console_form: "a page",
  public_run: "a page",
  shared_run: "a page",
  docs: "a page",
  docs_file: "a page",
  verify_page: "a page",
  run_bundle: "serves no run",
}

/** Sealed documents: they stay as they were received, since every byte of them is checked. */
export const DOCUMENTS: ReadonlySet<string> = new Set([
  "AdminEvent",
  "AllowToken",
  "AivpT4HaltReceipt",
  "ApprovalRequest",
  "AttestationGapReceipt",
  "Bundle",
  "BundleAnswer",
  "CCVHaltReceipt",
  "DenyReceipt",
  "Document",
  "DsseEnvelope",
  "FullBundle",
  "Jwks",
  "LogEntry",
  "MACCHaltReceipt",
  "Manifest",
  "OpenApiDocument",
  "Opening",
  "PartialManifest",
  "PermitEnd",
  "ReceiptAnchor",
  "ReceiptLeaf",
  "TrustDocument",
  "TrustedRoot",
])
/** Members that are such documents without a name. */
export const DOCUMENT_MEMBERS: ReadonlySet<string> = new Set(["leaf"])

/** Answers that are read as one class: a run that was sealed, whatever its outcome. */
export const MERGED_ANSWERS: Readonly<Record<string, readonly string[]>> = {
  RunAnswer: ["OkAnswer", "ObservedAnswer", "RefusedAnswer", "StageErrorAnswer"],
}
/** The class of an answer, where it is another one than that of its name. */
export const ANSWER_CLASSES: Readonly<Record<string, string>> = { ExecuteAnswer: "RunAnswer" }

/** Members that are never printed. */
export const SECRETS: Readonly<Record<string, readonly string[]>> = {
  CreatedDestination: ["secret"],
  MadeShare: ["token", "url"],
  MintedKey: ["secret"],
  OpenPermitAnswer: ["permit"],
  RotatedDestination: ["secret"],
  RotatedKey: ["secret"],
  SessionAnswer: ["csrf_token"],
}

/** Classes of objects that have no name in the document, by their place: of a member everywhere, or of one class. */
export const NESTED_NAMES: Readonly<Record<string, string>> = {
  approvers: "Approver",
  authorization_chain: "AuthorizationChain",
  causal_graph: "CausalGraph",
  cost: "Cost",
  effect_log: "Effect",
  findings: "Finding",
  human_in_loop: "HumanInLoop",
  output: "OutputHash",
  passkey: "PasskeySignature",
  enrolment: "PasskeyPlace",
  confirmed_by: "PasskeyConfirmer",
  prompt: "PromptHash",
  regulatory_scaffolding: "RegulatoryScaffolding",
  threshold_checks: "ThresholdCheck",
  "ActTable.names": "ActName",
  "ApprovalRecord.act": "AskedAct",
  "ApprovalRecord.end_user": "ApprovalEndUser",
  "ApprovalRecord.approved_before": "ApprovedBefore",
  "ApprovalSummary.act": "AskedAct",
  "ApprovedBefore.act": "AskedAct",
  "ApprovalSummary.end_user": "ApprovalEndUser",
  "AskedAct.values": "AskedActValue",
  "AttentionAnswer.found": "AttentionFound",
  "AttentionFound.approvals_for_you": "FoundWaitingApproval",
  "AttentionFound.clock_behind": "FoundClockBehind",
  "AttentionFound.contradicting_witnesses": "FoundContradictingWitness",
  "AttentionFound.denying_rules": "FoundDenyingRule",
  "AttentionFound.ending_permits": "FoundUrgentPermit",
  "AttentionFound.failing_outside_logs": "FoundFailingOutsideLog",
  "AttentionFound.failing_receivers": "FoundFailingReceiver",
  "AttentionFound.full_budgets": "FoundFullBudget",
  "AttentionFound.late_outside_logs": "FoundLateOutsideLog",
  "AttentionFound.near_budgets": "FoundFullBudget",
  "AttentionFound.not_ready": "FoundNotReady",
  "AttentionFound.not_witnessed": "FoundUnwitnessed",
  "AttentionFound.silent_witnesses": "FoundSilentWitness",
  "AttentionFound.unreported_permits": "FoundUrgentPermit",
  "AttentionFound.waiting_approvals": "FoundWaitingApproval",
  "AttentionFound.waiting_passkeys": "FoundWaitingPasskey",
  "ChangedKey.claim": "KeyClaim",
  "ClosePermitRequest.request_substance": "ClosingSubstance",
  "DcaeAnswer.limitations": "Limitation",
  "DecidedApproval.act": "AskedAct",
  "DecidedApproval.end_user": "ApprovalEndUser",
  "Delivery.last_error": "DeliveryError",
  "DeterminismAnswer.diff": "Difference",
  "DeterminismAnswer.first": "Rehearsal",
  "DeterminismAnswer.second": "Rehearsal",
  "DryRunAnswer.candidate": "NamedPolicy",
  "DryRunAnswer.changes": "ChangedDecision",
  "DryRunAnswer.in_force": "NamedPolicy",
  "DryRunAnswer.not_judged_runs": "NotJudgedRun",
  "DryRunAnswer.rules": "RuleCounts",
  "ExecuteRequest.request_substance": "RequestSubstance",
  "FoundClockBehind.first": "ClockBehind",
  "FoundContradictingWitness.first": "ContradictingWitness",
  "FoundDenyingRule.first": "DenyingRule",
  "FoundFailingOutsideLog.first": "FailingOutsideLog",
  "FoundFailingReceiver.first": "FailingReceiver",
  "FoundFullBudget.first": "FullBudget",
  "FoundLateOutsideLog.first": "LateOutsideLog",
  "FoundNotReady.first": "NotReady",
  "FoundSilentWitness.first": "SilentWitness",
  "FoundUnwitnessed.first": "Unwitnessed",
  "FoundUrgentPermit.first": "UrgentPermit",
  "FoundWaitingApproval.first": "WaitingApproval",
  "FoundWaitingPasskey.first": "WaitingPasskey",
  "IndexAnswer.links": "Links",
  "IndexAnswer.log": "LogSize",
  "KeyChangesAnswer.changes": "KeyChange",
  "KeyUsage.trial": "TrialQuota",
  "KeyUsage.window": "BudgetWindow",
  "ListedEvent.sealed": "SealedPlace",
  "ListedEvent.subject": "Subject",
  "ListedEvent.who": "Administrator",
  "ListedKey.claim": "KeyClaim",
  "LogEntryAnswer.inclusion_proof": "InclusionProof",
  "OpenPermitRequest.request_substance": "OpeningSubstance",
  "OverviewAnswer.denied_by": "DeniedBy",
  "OverviewAnswer.previous": "OverviewBefore",
  "OverviewAnswer.steps": "OverviewStep",
  "PoliciesPage.proposed": "ProposedPolicy",
  "PolicyDocument.acts": "ActTable",
  "PolicyDocument.rules": "PolicyRule",
  "PolicyRule.approval": "PolicyApproval",
  "PolicyInForce.signatures": "SignatureLibrary",
  "TestedDestination.error": "DeliveryError",
  "VerifyAnswer.dcae_engine_hint": "EngineHint",
  "WitnessesAnswer.checkpoint": "WitnessedCheckpoint",
  "WitnessesAnswer.witnesses": "Witness",
}

/** Requests that a caller writes as one dictionary; the members of every other one are arguments. */
export const WHOLE_REQUESTS: ReadonlySet<string> = new Set([
  "ExecuteRequest",
  "OpenPermitRequest",
  "ClosePermitRequest",
  "Document",
])

/** What an idempotency key is where the caller gives none: these calls make one thing each. */
export const IDEMPOTENCY_KEYS: Readonly<Record<string, string>> = {
  execute: "new_key()",
  open_permit: "new_key()",
  attest: "new_key()",
  close_permit: 'f"close-{permit_id}"',
}

/** Headers that a caller gives, as arguments. */
export const HEADER_ARGUMENTS: Readonly<Record<string, { readonly name: string; readonly header: string }>> = {
  close_session: { name: "csrf_token", header: "X-CSRF-Token" },
}
