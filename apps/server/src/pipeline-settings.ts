/** What the pipeline of a service is set to: its policy, its budgets, and what each run says of the service. */

import { BODY_MAX_BYTES } from "@runseal/api/body-bounds"
import type { SystemProvenanceSection } from "@runseal/core/artifacts/sealed-sections"
import { systemProvenanceSection } from "@runseal/core/formulas/pre-execution"
import { seal } from "@runseal/core/formulas/seal"
import type { Budgets } from "@runseal/core/seal/gates/macc"
import type { SignatureScan } from "@runseal/core/vocabulary/decision-codes"
import { ENFORCEMENT } from "@runseal/core/vocabulary/scalars"
import { LEDGER_BACKEND } from "@runseal/core/vocabulary/versions"
import { deciding } from "@runseal/policy/decide"
import type { CompiledPolicy } from "@runseal/policy/load-policy"
import type { ExecutionParts } from "./execution.ts"
import { WATCH } from "./followed-steps.ts"
import type { Inspection } from "./inspection/inspection.ts"
import { type Config, SERVICE_NAME, SERVICE_VERSION } from "./options/config.ts"
import type { OutsideLog } from "./outbound/outbox/outside-log.ts"
import type { SignatureLibrary } from "./policy/signature-library.ts"
import type { Reviewer } from "./review/reviewer.ts"

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
