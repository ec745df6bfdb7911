/**
 * A run from submission to sealed record, its rehearsal, and permits; and what they are set to. docs/architecture.md, "POST /execute, from
 * socket to answer".
 */

import { BODY_MAX_BYTES } from "@runseal/api/endpoint"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { SystemProvenanceSection } from "@runseal/core/artifacts/sealed-sections"
import { systemProvenanceSection } from "@runseal/core/formulas/pre-execution"
import { seal } from "@runseal/core/formulas/seal"
import type { AskReview } from "@runseal/core/seal/gates/aivp-t4"
import type { Budgets, MakeCharge } from "@runseal/core/seal/gates/macc"
import { type PipelineContext, runToLog } from "@runseal/core/seal/pipeline"
import type { SignatureScan } from "@runseal/core/vocabulary/decision-codes"
import { ENFORCEMENT } from "@runseal/core/vocabulary/scalars"
import { LEDGER_BACKEND } from "@runseal/core/vocabulary/versions"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { deciding } from "@runseal/policy/decide"
import type { CompiledPolicy } from "@runseal/policy/load-policy"
import { openApprovals } from "./approval-service.ts"
import type { Deps } from "./deps.ts"
import { followed, WATCH } from "./followed-steps.ts"
import { badRequest, type HttpError } from "./http-error.ts"
import type { Inspection } from "./inspection/inspection.ts"
import type { SignOpening } from "./keys/permit-signing.ts"
import { type Config, SERVICE_NAME, SERVICE_VERSION } from "./options/config.ts"
import type { OutsideLog } from "./outbound/outbox/outside-log.ts"
import { openPermits } from "./permit-service.ts"
import type { SignatureLibrary } from "./policy/signature-library.ts"
import type { Policies } from "./policy-service.ts"
import { type NoteFailure, reportingFailures } from "./reported-failures.ts"
import { askReviewer, type Reviewer } from "./review/reviewer.ts"
import type { SealedRun } from "./sealing/batch.ts"
import { createMomentSource } from "./sealing/moment-source.ts"
import { createRehearsal } from "./sealing/rehearsal.ts"
import type { Sealer } from "./sealing/sealer.ts"
import type { Database } from "./store/driver/database.ts"
import { StoreError } from "./store/driver/store-errors.ts"
import type { KeyClaim } from "./store/tables/idempotency-keys.ts"
import { type BudgetLedger, readWindow } from "./store/tables/tenant-windows.ts"
import type { ReportFault } from "./telemetry.ts"

export type ExecutionParts = {
  readonly db: Database
  readonly sealer: Sealer
  readonly ledger: Pick<BudgetLedger, "charge">
  readonly reviewer: Reviewer
  /** Ends reviews under way when the service stops. */
  readonly signal: AbortSignal
  readonly nowMs: () => number
  /** Signs permits; absent where this service opens none. */
  readonly signOpening?: SignOpening | undefined
  /** Origin of the log. */
  readonly issuer: string
  /** What a run is held against that is admitted now. */
  readonly pipeline: () => Omit<PipelineContext, "makeCharge" | "askReview">
  readonly policies: Pick<Policies, "ofEvaluation" | "exactlyOf">
  /** The service's own keys. */
  readonly trust: TrustedKeys
  /** Called for a request for an approval that could not be ended. */
  readonly reportNotEnded: (error: unknown) => void
  /** Logs the cause of a stage failure; the record holds only its sentence. */
  readonly reportFault: ReportFault
}

const overflow = (): HttpError =>
  badRequest("request_substance.cost.total_tokens would take the window's total beyond 2^53 − 1.")

/** Caches the first result of an asynchronous function. */
function once<Input, Output>(work: (input: Input) => Promise<Output>): (input: Input) => Promise<Output> {
  let first: Promise<Output> | undefined
  return input => {
    first ??= work(input)
    return first
  }
}

/** `execute`, `rehearse`, `permits` and `approvals` of the routes. */
export function openExecution(parts: ExecutionParts): Pick<Deps, "execute" | "rehearse" | "permits" | "approvals"> {
  const { db, sealer, ledger, pipeline, policies, nowMs, signOpening, issuer, trust, reportFault } = parts
  const mint = createMomentSource(nowMs)
  const review = askReviewer(parts.reviewer, parts.signal)
  const askReview: AskReview = decided => followed({ name: "review" }, () => review(decided))
  const chargeAs =
    (claim: KeyClaim | undefined): MakeCharge =>
    async charge => {
      const made = await ledger.charge({ ...charge, claim })
      if (made.ok) return { ordinal: made.ordinal, total_after: made.total_after }
      throw made.reason === "overflow" ? overflow() : new StoreError("conflict")
    }
  const context = () => ({ ...pipeline(), askReview })
  const ofPolicy = {
    policyOf: policies.exactlyOf,
    opens: signOpening !== undefined,
    trust,
    reportFailure: parts.reportNotEnded,
  }
  const approvals = openApprovals({ db, sealer, nowMs, mint, pipeline: context, ...ofPolicy })
  const policyOf = policies.ofEvaluation
  return {
    execute: (submission, claim, request_id, slot) => {
      const settings = context()
      const work = async (noteFailure: NoteFailure): Promise<SealedRun> => {
        const draft = await runToLog(submission, mint(), { ...settings, makeCharge: chargeAs(claim) })
        noteFailure(draft)
        await slot?.()
        return sealer.seal(draft, claim)
      }
      return reportingFailures("execute", reportFault, request_id, work, run => run)
    },
    rehearse: async submission => {
      const moment = mint()
      const wouldBe: MakeCharge = once(async ({ tenant_id, window_seconds, window_start, tokens }) => {
        const { total, movements } = await readWindow(db, { tenant_id, window_seconds, window_start })
        if (!Number.isSafeInteger(total + tokens)) throw overflow()
        return { ordinal: movements + 1, total_after: total + tokens }
      })
      const rehearsed = { ...context(), makeCharge: wouldBe, askReview: once(askReview) }
      const sealDraft = createRehearsal(moment.at, reportFault)
      const sealOnce = async (): Promise<Bundle> => {
        const draft = await runToLog(submission, moment, rehearsed)
        if (draft.failure !== undefined) reportFault(draft.failure)
        return sealDraft(draft)
      }
      return [await sealOnce(), await sealOnce()]
    },
    permits: openPermits({
      ...{ db, sealer, nowMs, mint, pipeline: context, policyOf, signOpening, issuer, reportFault },
      ask: approvals.ask,
    }),
    approvals,
  }
}

// What the pipeline of a service is set to: its policy, its budgets, and what each run says of the service.

/** What can be judged of the options before a database is made. */
export type Prepared = {
  /** That of the file of `--policy`, or the built-in one. */
  readonly policy: CompiledPolicy
  /** Text of the file; undefined without one. */
  readonly policyText: string | undefined
  readonly signatureScan: SignatureScan
  readonly library: SignatureLibrary
  readonly inspection: Inspection
  readonly reviewer: Reviewer
  /** The log that also gets every entry, when there is to be one. */
  readonly outside: OutsideLog | undefined
}

/** What every run says of the service that sealed it. */
export const provenanceOf = (source_revision: string): SystemProvenanceSection =>
  seal(
    systemProvenanceSection({
      service: SERVICE_NAME,
      service_version: SERVICE_VERSION,
      orchestrator_version: SERVICE_VERSION,
      source_revision,
      runtime: "node",
      runtime_version: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
      ledger_backend: LEDGER_BACKEND,
    }),
  )

/** What a run is held against where its key has no budget of its own. */
export const budgetsOf = (config: Config): Budgets => ({
  run_tokens: config.runTokenBudget,
  window_tokens: config.windowTokenBudget,
  window_seconds: config.windowSeconds,
})

/** How callers are known, who of them is shown what the policy says of a refusal, and who may ask for what is only observed: everybody where every run is. */
export const callersOf = ({ trustedProxyHops, proxyHeader, mode, allowObserve, explain }: Config) => ({
  trustedProxyHops,
  proxyHeader,
  explaining: explain,
  observing: mode === "observe" ? ("everybody" as const) : allowObserve,
})

/** What a run is held against that is admitted now, and what it says of the service. @param policy the one in force */
export function pipelineOf(
  config: Config,
  { library, inspection }: Pick<Prepared, "library" | "inspection">,
  policy: () => CompiledPolicy,
  revision: string,
): ExecutionParts["pipeline"] {
  const settings = {
    library,
    scan: inspection.scan,
    readPayload: inspection.readPayload,
    region: config.region,
    ...(config.mode === "observe" && { enforcement: ENFORCEMENT }),
    max_scan_units: BODY_MAX_BYTES,
    budgets: budgetsOf(config),
    system_provenance: provenanceOf(revision),
    watch: WATCH,
  }
  return () => ({ ...settings, policy: deciding(policy()) })
}
