/** The in-toto Statement that a sealed record gives. docs/formats.md section 14. */
import { canonicalize } from "@runseal/canonical"
import type { Anchor } from "../artifacts/anchor.ts"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { receiptOf } from "../artifacts/bundle-schema.ts"
import { type RunStatement, subjectName } from "../artifacts/run-statement.ts"
import { IN_TOTO_STATEMENT_TYPE, RUN_STATEMENT_PREDICATE_TYPE } from "../vocabulary/versions.ts"

/** The one statement of a record; undefined for a stage_error and for a record without complete-record anchor, which have none. */
export function runStatement(bundle: Bundle): RunStatement | undefined {
  const { run, sections, anchors, manifest, bundle_hash } = bundle
  const { run_id, outcome_kind, tenant_id, program_id, route_id, execution_region, created_at } = run
  if (outcome_kind === "stage_error" || anchors.complete_record === undefined) return undefined
  const { payload_hash, ai_output_hash } = sections.payload
  const policy_hash = sections.policy_evaluation?.policy_hash
  const enforcement = sections.envelope?.enforcement
  const receipt = receiptOf(bundle)?.receipt
  return {
    _type: IN_TOTO_STATEMENT_TYPE,
    subject: [{ name: subjectName(run_id), digest: { sha256: bundle_hash } }],
    predicateType: RUN_STATEMENT_PREDICATE_TYPE,
    predicate: {
      run_id,
      outcome_kind,
      ...(enforcement === undefined ? {} : { enforcement }),
      tenant_id,
      program_id,
      route_id,
      execution_region,
      created_at,
      payload_hash,
      ...(ai_output_hash === undefined ? {} : { ai_output_hash }),
      ...(policy_hash === undefined ? {} : { policy_hash }),
      ...(manifest === undefined ? {} : { manifest_hash: manifest.ManifestHash }),
      ...(receipt === undefined ? {} : { receipt_hash: receipt.hash }),
      anchors: {
        ...(anchors.pre_anchor === undefined ? {} : { pre_anchor: placeOf(anchors.pre_anchor) }),
        ...(anchors.receipt === undefined ? {} : { receipt: placeOf(anchors.receipt) }),
        complete_record: placeOf(anchors.complete_record),
      },
    },
  }
}

/** What is signed of a statement: its RFC 8785 form, as UTF-8 the payload of its envelope. */
export const runStatementText = (statement: RunStatement): string => canonicalize(statement)

type Place<Version> = Pick<Anchor, "entry"> & { readonly leaf: { readonly leaf_version: Version } }

const placeOf = <Version>({ leaf, entry }: Place<Version>) => ({
  leaf_version: leaf.leaf_version,
  log_id: entry.logId.keyId,
  log_index: entry.logIndex,
  integrated_time: entry.integratedTime,
})
