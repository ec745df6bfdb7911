/**
 * The policy in force: which one a process starts with, how it changes without a restart, and how all processes of a database come to the
 * same one. Decision 0186.
 */
import { isDeepStrictEqual } from "node:util"
import { canonicalize, digest, type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import type { EventFacts } from "@runseal/core/artifacts/admin-event"
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { causeOf, type Explanation, explainReceipt } from "@runseal/core/artifacts/explanation"
import type { Receipts } from "@runseal/core/artifacts/sealed-artifacts"
import type { PolicyEvaluationSection, SealedSections } from "@runseal/core/artifacts/sealed-sections"
import type { SignatureScan } from "@runseal/core/vocabulary/decision-codes"
import { type DryRunAnswer, PROPOSALS_MAX } from "@runseal/core/wire/policy-requests"
import { explainRule, ruleText } from "@runseal/policy/explain-rule"
import { type CompiledPolicy, compilePolicy, loadPolicy, policyPreimage } from "@runseal/policy/load-policy"
import { BUILT_IN_POLICY, PolicyError, parsePolicyDocument } from "@runseal/policy/policy-document"
import { badRequest, HttpError } from "./http-error.ts"
import type { Config } from "./options/config.ts"
import { PASSKEYS_START, passkeyPlace } from "./options/passkey-place.ts"
import { StartupError } from "./options/startup-error.ts"
import { signatureName } from "./policy/signature-name.ts"
import { dryRun } from "./policy-dry-run.ts"
import type { Database } from "./store/driver/database.ts"
import { StoreError } from "./store/driver/store-errors.ts"
import { type Acts, OPERATOR_COMMAND } from "./store/tables/admin-events.ts"
import {
  type AddedPolicy,
  addPolicy,
  documentOf,
  nameVersion,
  newestPolicy,
  type PolicyVersionRow,
  startPolicy,
  TooManyProposals,
} from "./store/tables/policy-versions.ts"
import type { Telemetry } from "./telemetry.ts"

/** How often a process reads which policy is in force, in milliseconds. */
const POLL_EVERY_MS = 1000

/** A version with what decides by it. */
export type PolicyInForce = { readonly row: PolicyVersionRow; readonly compiled: CompiledPolicy }

export type Policies = {
  /** What a run is decided by that is admitted now. */
  readonly inForce: () => PolicyInForce
  /** What decided before, whatever is in force meanwhile. */
  readonly ofEvaluation: PolicyOfEvaluation
  readonly exactlyOf: ExactPolicyOf
  readonly explain: ExplainRefusal
  /** Puts a document in force, as an act of an administrator; or proposes it, where another one has to load it too. Rejects with a 400 for one that cannot be used, and then nothing changed. */
  readonly load: (
    acts: Acts,
    document: JsonValue,
    source: "file" | "api",
    who: EventFacts["who"],
  ) => Promise<AddedPolicy>
  /** Rejects as `load`. Undefined: another one is under way. */
  readonly dryRun: (document: JsonValue, last: number) => Promise<DryRunAnswer | undefined>
  /** Puts the file of `--policy` in force, as it is when that is asked for. What comes of it is in the process log. */
  readonly reloader: (acts: Acts, readText: () => string | undefined) => () => Promise<void>
  readonly close: () => Promise<void>
}

/** What of the configuration says which approvals people can give. */
type ApprovalOptions = Pick<Config, "approvals" | "baseUrl" | "signIn">

/** @throws PolicyError for a policy with a rule that requires an approval which nobody could give here */
export function requireApprovals({ approvals }: CompiledPolicy, options: ApprovalOptions): void {
  const { approvals: mode, signIn } = options
  if (approvals.size > 0 && mode === "off")
    throw new PolicyError(
      "The policy has a rule that requires an approval, and approvals are off: start with --approvals on.",
    )
  for (const [id, { proof }] of approvals) {
    if (proof === "passkey" && passkeyPlace(options) === undefined)
      throw new PolicyError(`Rule "${id}" asks for passkeys, and people cannot enrol any here: ${PASSKEYS_START}.`)
    if (proof === "idp" && signIn === undefined)
      throw new PolicyError(
        `Rule "${id}" asks for approvals proven by a sign-in, and people do not sign in here: start with --oidc-client-id.`,
      )
  }
}

type PolicyParts = {
  readonly config: ApprovalOptions & Pick<Config, "approvePolicy">
  readonly db: Pick<Database, "read" | "transaction">
  readonly prepared: {
    /** Text of the file of `--policy`; undefined without one. */
    readonly policyText: string | undefined
    /** How the operator set the signature scan of this process. */
    readonly signatureScan: SignatureScan
  }
  readonly nowMs: () => number
  readonly telemetry: Pick<Telemetry, "policyChanged" | "policyNotRead" | "policyRefused">
}

/** @throws StartupError when the policy that the database has in force cannot be used */
export async function openPolicies({ config, db, prepared, nowMs, telemetry }: PolicyParts): Promise<Policies> {
  const { policyText: fileText, signatureScan: scan } = prepared
  const compiledFrom = compilesOnce(scan, config)
  /** A close finds the policy of its opening by its hash, so the hash is known before anything is decided by it. */
  const ready = async (row: PolicyVersionRow): Promise<PolicyInForce> => {
    const compiled = compiledFrom(row.document)
    await nameVersion(db, compiled.policy_hash, row.version)
    return { row, compiled }
  }
  const versionOf = (json: JsonValue, source: PolicyVersionRow["source"]) => {
    const document = canonicalize(json)
    const { policy_id, policy_name, policy_hash } = compiledFrom(document)
    return { policy_id, policy_name, policy_hash, source, document }
  }
  const builtIn = JSON.stringify(BUILT_IN_POLICY)
  const start = versionOf(parseStrictJson(fileText ?? builtIn), fileText === undefined ? "built-in" : "file")
  const confirmation = config.approvePolicy === "on" ? "another_admin" : "none"
  const started = await startPolicy(db, start, OPERATOR_COMMAND, nowMs(), confirmation)
  let current = await atStart(() => ready(started.row))
  telemetry.policyChanged(current.row, start.source === "file" && started.row.document !== start.document)

  let [startedReads, takenRead] = [0, 0]
  const refresh = async (): Promise<void> => {
    const read = ++startedReads
    const row = await newestPolicy(db)
    // A read that started later has shown more than this one.
    if (read < takenRead) return
    takenRead = read
    // A lower version too: an acknowledged one is lost when a standby that lagged takes over, and its number may be given again.
    if (row === undefined || isDeepStrictEqual(row, current.row)) return
    const next = await ready(row)
    if (read < takenRead) return
    current = next
    telemetry.policyChanged(row, false)
  }
  let polling: Promise<void> | undefined
  const poll = (): void => {
    // The policy of before stays in force: what it decides is sealed with its hash.
    polling ??= refresh()
      .catch(telemetry.policyNotRead)
      .finally(() => {
        polling = undefined
      })
  }
  const timer = setInterval(poll, POLL_EVERY_MS).unref()
  const load: Policies["load"] = async (acts, document, source, who) => {
    const version = accepted(() => versionOf(document, source))
    const settled = await addPolicy(acts, version, who, nowMs(), confirmation).catch(refusedLoad)
    if (!("proposal" in settled)) await refresh()
    return settled
  }
  const exactlyOf = policiesOfBefore(db, () => current.compiled)
  const ofEvaluation: PolicyOfEvaluation = async evaluation => (await exactlyOf(evaluation)) ?? current.compiled
  let rehearsing = false
  return {
    inForce: () => current,
    ofEvaluation,
    exactlyOf,
    explain: explainsRefusals(ofEvaluation),
    load,
    reloader: (acts, readText) => async () => {
      try {
        const text = readText()
        if (text === undefined) telemetry.policyRefused("the service was started without --policy")
        else if ("proposal" in (await load(acts, parseStrictJson(text), "file", OPERATOR_COMMAND)))
          telemetry.policyRefused("another admin has to load the same document: --approve-policy is on")
      } catch (error) {
        telemetry.policyRefused(refusalOf(error))
      }
    },
    dryRun: async (document, last) => {
      if (rehearsing) return undefined
      rehearsing = true
      try {
        const candidate = accepted(() => loadPolicy(document, scan))
        return await dryRun(db, current.compiled, candidate, last)
      } finally {
        rehearsing = false
      }
    },
    close: async () => {
      clearInterval(timer)
      await polling
    },
  }
}

/** A document is compiled once when it is put in force, although it is read again from the database: the largest takes 0.2 s. */
function compilesOnce(scan: SignatureScan, config: ApprovalOptions): (document: string) => CompiledPolicy {
  let newest: { readonly document: string; readonly compiled: CompiledPolicy } | undefined
  return document => {
    if (newest?.document === document) return newest.compiled
    const compiled = loadPolicy(parseStrictJson(document), scan)
    requireApprovals(compiled, config)
    newest = { document, compiled }
    return compiled
  }
}

/** A policy that was in force under another release may not be one that this release understands. */
async function atStart(ready: () => Promise<PolicyInForce>): Promise<PolicyInForce> {
  try {
    return await ready()
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    throw new StartupError(`the policy in force in the database cannot be used: ${error.message}`)
  }
}

function refusedLoad(error: unknown): never {
  if (!(error instanceof TooManyProposals)) throw error
  throw badRequest(
    `${PROPOSALS_MAX} policies wait for another admin to load them, as many as may: confirm one, or wait a day.`,
  )
}

/** The sentence on a policy that cannot be used names its rules and quotes nothing else: it is for the author of the policy. */
function accepted<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof PolicyError ? badRequest(error.message) : error
  }
}

/** Why a file is not in force, for the operator; nothing of an unexpected failure. */
function refusalOf(error: unknown): string {
  const isKnown = [HttpError, StrictJsonError, StartupError, StoreError].some(kind => error instanceof kind)
  return isKnown && error instanceof Error ? error.message : "an unexpected failure"
}

// Why a run was refused, for the caller who may see it. docs/api.md, "Explanation".

type ExplainedRefusal = {
  readonly explanation: Explanation
  /** The same as a phrase. */
  readonly cause: string
  /** The text of the rule that decided, where what the policy says is shown and a rule of it did. */
  readonly rule?: string
}

/**
 * Undefined for a run that no gate refused. It follows from the record and the policy that it names: a repetition gets the same.
 * @param shown whether what the policy says of the rule, and what the rule read, is part of it
 */
type ExplainRefusal = (
  record: Partial<Receipts> & { readonly sections: SealedSections },
  shown: boolean,
) => Promise<ExplainedRefusal | undefined>

const explainsRefusals =
  (policyOf: PolicyOfEvaluation): ExplainRefusal =>
  async (record, shown) => {
    const receipt = receiptOf(record)?.receipt
    if (receipt === undefined) return undefined
    const { sections } = record
    const isShown = shown && receipt.version === "vfa.deny_receipt.v1"
    const policy = isShown ? await exactPolicy(policyOf, sections) : undefined
    const explanation = {
      ...explainReceipt(receipt, sections),
      ...signatureMembers(sections),
      ...(policy === undefined ? {} : explainRule(sections, policy)),
    }
    const rule = policy && ruleText(sections, policy)
    return { explanation, cause: causeOf(receipt, explanation), ...(rule === undefined ? {} : { rule }) }
  }

/** A match that was only observed refused nothing. */
function signatureMembers({ mcd_finding: found, policy_evaluation: evaluation }: SealedSections): Partial<Explanation> {
  const isCause = found !== undefined && evaluation?.fired_rule_id === found.matched_signature_id
  return (isCause && signatureName(found.library_hash, found.matched_signature_id)) || {}
}

/** The policy that decided; undefined where the database does not have the document any more. */
async function exactPolicy(
  policyOf: PolicyOfEvaluation,
  { policy_evaluation: evaluation }: SealedSections,
): Promise<CompiledPolicy | undefined> {
  if (evaluation === undefined) return undefined
  const policy = await policyOf(evaluation)
  return policy.policy_hash === evaluation.policy_hash ? policy : undefined
}

// Policies that were in force: a close is decided by that of its opening, so that no load makes a refusal of an act that was done.

/** Policies of before that are ready: as many as the engine has names for. */
const COMPILED_MAX = 8

/** The policy of an evaluation; undefined where the database does not have its document any more, or this release does not load it. */
type ExactPolicyOf = (evaluation: PolicyEvaluationSection) => Promise<CompiledPolicy | undefined>
/** The same; then the policy in force. */
type PolicyOfEvaluation = (evaluation: PolicyEvaluationSection) => Promise<CompiledPolicy>

function policiesOfBefore(db: Pick<Database, "read">, inForce: () => CompiledPolicy): ExactPolicyOf {
  const compiled = new Map<string, CompiledPolicy>()
  return async evaluation => {
    const { policy_hash } = evaluation
    const now = inForce()
    const known = now.policy_hash === policy_hash ? now : compiled.get(policy_hash)
    if (known !== undefined) return known
    const text = await documentOf(db, policy_hash)
    const before = text === undefined ? undefined : policyOf(text, evaluation)
    if (before === undefined) return undefined
    const [oldest] = compiled.size < COMPILED_MAX ? [] : compiled.keys()
    if (oldest !== undefined) compiled.delete(oldest)
    compiled.set(policy_hash, before)
    return before
  }
}

/** Undefined for a document that is not the one of the evaluation, or that this release does not load. */
function policyOf(text: string, evaluation: PolicyEvaluationSection): CompiledPolicy | undefined {
  const { policy_hash, signature_scan, engine_version } = evaluation
  try {
    const document = parsePolicyDocument(parseStrictJson(text))
    if (digest(policyPreimage(document, signature_scan, engine_version)) !== policy_hash) return undefined
    return { ...compilePolicy(document, signature_scan), policy_hash }
  } catch (error) {
    if (error instanceof PolicyError) return undefined
    throw error
  }
}
