/** What a batch of the sealer needs around it, at a fixed time and without a database. */
import { systemProvenanceSection } from "@runseal/core/formulas/pre-execution"
import { seal } from "@runseal/core/formulas/seal"
import type { PermitContext } from "@runseal/core/seal/pipeline"
import { deciding } from "@runseal/policy/decide"
import { loadPolicy } from "@runseal/policy/load-policy"
import { WATCH } from "../../src/followed-steps.ts"
import { readPayload } from "../../src/inspection/inspect-job.ts"
import { newEcdsaKey } from "../../src/keys/ecdsa-keys.ts"
import { scratchTrust } from "../../src/keys/published-trust.ts"
import { compileSignatureLibrary, scanTexts } from "../../src/policy/signature-library.ts"
import { askReviewer, noReview } from "../../src/review/reviewer.ts"
import { createMomentSource } from "../../src/sealing/moment-source.ts"

/** Milliseconds since the epoch. */
export const BATCH_TIME = Date.UTC(2026, 4, 4, 12)
export const batchLog = { keys: { service: newEcdsaKey(), log: newEcdsaKey() }, origin: "batch.example - 1" }
export const batchTrust = scratchTrust(batchLog, BATCH_TIME / 1000 - 60)

const library = compileSignatureLibrary()
export const batchPipeline: PermitContext = {
  policy: deciding(loadPolicy(undefined)),
  library,
  scan: async texts => scanTexts(library, texts),
  readPayload: async (text, table) => readPayload(text, table),
  region: "eu-test-1",
  max_scan_units: 1_048_576,
  budgets: { run_tokens: 1000, window_tokens: 1000, window_seconds: 60 },
  system_provenance: seal(
    systemProvenanceSection({
      service: "runseal",
      service_version: "1.0.0",
      orchestrator_version: "1.0.0",
      source_revision: "unknown",
      runtime: "node",
      runtime_version: "24",
      platform: "test",
      ledger_backend: "embedded",
    }),
  ),
  askReview: askReviewer(noReview, new AbortController().signal),
  watch: WATCH,
}
export const batchMoment = createMomentSource(() => BATCH_TIME)
