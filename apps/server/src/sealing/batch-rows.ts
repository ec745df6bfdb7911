/** The rows of a batch, as its transaction writes them. */
import { sealedHash } from "@runseal/core/artifacts/bundle-schema"
import { recordFindings } from "@runseal/core/artifacts/record-findings"
import type { Tx } from "../store/driver/session.ts"
import { type AttestationRow, insertAttestations } from "../store/tables/attestations-table.ts"
import { packBundle } from "../store/tables/bundle-text.ts"
import { appendEntries, type LogHeadRow } from "../store/tables/log-store.ts"
import { countOutcomes } from "../store/tables/outcome-counts.ts"
import { insertTerms, type TermsOfRun } from "../store/tables/run-terms.ts"
import { findingsText, insertRuns, type NewRunRow } from "../store/tables/runs-table.ts"
import { updateTenants } from "../store/tables/tenants.ts"
import { indexedTerms } from "./indexed-terms.ts"
import { writePermits } from "./permit-rows.ts"
import type { SealedAttestation } from "./seal-attestation.ts"
import type { Batch, BatchWork, SealedRun } from "./seal-batch.ts"
import { writeEvents } from "./seal-events.ts"
import type { PermitState } from "./settle-permits.ts"

/** What a batch was built on. */
type BatchPlace = {
  readonly head: LogHeadRow
  /** Unix seconds. */
  readonly time: number
  /** The published checkpoint of a head. */
  readonly publicCheckpoint: (size: number, root: Uint8Array) => string
  readonly permits: PermitState
}

/** Sends all rows of a batch. */
export function writeBatch(
  tx: Tx,
  work: BatchWork,
  batch: Batch,
  { head, time, publicCheckpoint, permits }: BatchPlace,
): readonly Promise<void>[] {
  const root = batch.log.root()
  const size = batch.log.size()
  const runs = batch.runs.filter(run => run !== undefined)
  const attestations = batch.attestations.filter(attestation => attestation !== undefined)
  const entries = batch.entries.map(({ index, body }) => ({ log_index: index, body, integrated_time: time }))
  const next: LogHeadRow = {
    ...head,
    size,
    root,
    log_time: time,
    next_run_id: head.next_run_id + runs.length,
    checkpoint: publicCheckpoint(size, root),
  }
  return [
    appendEntries(tx, { entries, tiles: batch.log.tiles(), head: next }),
    insertRuns(tx, runs.map(runRow)),
    insertTerms(tx, runs.map(termsOfRun)),
    insertAttestations(
      tx,
      attestations.map(sealed => attestationRow(sealed, time)),
    ),
    updateTenants(tx, [...batch.tenants.values()]),
    countOutcomes(
      tx,
      runs.map(({ draft, bundle }) => ({ owner: draft.tenant.owner, outcome_kind: bundle.run.outcome_kind })),
    ),
    writeEvents(tx, batch.events),
    ...writePermits(tx, work, batch, permits),
  ]
}

const runRow = (sealed: SealedRun): NewRunRow => {
  const { draft, bundle, text, packed, tenant_ordinal, owner_ordinal, leaf_digest } = sealed
  return {
    run_id: bundle.run.run_id,
    owner: draft.tenant.owner,
    owner_ordinal,
    chain_ordinal: tenant_ordinal,
    leaf_digest,
    created_at: Date.parse(bundle.run.created_at),
    outcome_kind: bundle.run.outcome_kind,
    error_stage: bundle.run.error_stage ?? "",
    program_id: bundle.run.program_id,
    route_id: bundle.run.route_id,
    manifest_hash: sealedHash(bundle),
    execution_region: bundle.run.execution_region,
    enforcement: bundle.sections.envelope?.enforcement ?? "",
    duration_us: bundle.run.duration_us,
    findings: findingsText(recordFindings(bundle.sections)),
    permit_id: bundle.sections.permit?.permit_id ?? "",
    closing_outcome: bundle.sections.permit?.outcome ?? "",
    bundle: packed ?? packBundle(text),
    disclosure_seed: Buffer.from(draft.moment.seed, "hex"),
  }
}

const termsOfRun = ({ draft, bundle, owner_ordinal }: SealedRun): TermsOfRun => ({
  owner: draft.tenant.owner,
  owner_ordinal,
  terms: indexedTerms(bundle.sections),
})

const attestationRow = ({ owner, owner_ordinal, document, text }: SealedAttestation, time: number): AttestationRow => ({
  attestation_id: document.attestation_id,
  owner,
  owner_ordinal,
  created_at: time * 1000,
  digest: document.digest,
  log_index: Number(document.log_entry_id),
  document: text,
})
