/** Runs on their way into the log, and the rows that their records write. docs/formats.md sections 7.2 and 7.3. */
import { canonicalUtf8, type JsonObject, type JsonValue, type WrittenTexts } from "@runseal/canonical"
import type { CompleteRecordLeaf } from "@runseal/core/artifacts/anchor"
import {
  type Bundle,
  type BundleBody,
  receiptOf,
  type SealedBody,
  sealedHash,
} from "@runseal/core/artifacts/bundle-schema"
import { type DeclaredSection, isShown } from "@runseal/core/artifacts/declared-sections"
import { shownEndUser } from "@runseal/core/artifacts/end-user"
import { explainReceipt } from "@runseal/core/artifacts/explanation"
import { recordFindings } from "@runseal/core/artifacts/record-findings"
import type { Sections } from "@runseal/core/artifacts/sections"
import { finishSealed, reduceBody } from "@runseal/core/derivation/derive"
import { completeRecordLeaf, leafDigest, recordSeal } from "@runseal/core/formulas/leaves"
import { bundleHash } from "@runseal/core/formulas/manifest-sections"
import type { Draft } from "@runseal/core/seal/draft"
import { asStageError, type FirstAnchor, finishRecord, firstLeaf } from "@runseal/core/seal/record"
import { inStage, type StageFault } from "@runseal/core/seal/stage-failure"
import { moveHead, nextPlace, type TenantHead, tenantOf } from "@runseal/core/seal/tenant-chain"
import { BUNDLE } from "@runseal/core/verify/bundle"
import { member, textMember } from "@runseal/core/vocabulary/json-members"
import { packBundle } from "../store/tables/bundle-text.ts"
import type { KeyClaim } from "../store/tables/idempotency-keys.ts"
import type { RunTerm, TermField } from "../store/tables/run-terms.ts"
import { findingsText, refusalText } from "../store/tables/runs-table.ts"
import {
  type Chain,
  type ItemPart,
  leafed,
  type OpenItem,
  type Round,
  type Rows,
  type SealedRun,
  withoutLeaf,
} from "./batch.ts"
import { refusedRow } from "./permit-rows.ts"
import { endingLocks, endRequest } from "./seal-approvals.ts"

/** A run that is sealed for a request. @param answer called with it once it is durable */
export const runItem = (draft: Draft, claim: KeyClaim | undefined, answer: (run: SealedRun) => void): OpenItem => ({
  kind: "run",
  claim,
  charge_id: draft.sections.budget_snapshot?.window?.charge_id ?? "",
  bytes: draft.texts.size(),
  locks: {
    tenant: draft.tenant,
    ...(draft.refused_permit === undefined ? {} : { opens: draft.tenant.owner }),
    ...endingLocks(draft.sections),
  },
  open: (round, fault) => {
    const ended = endRequest(round, draft.sections)
    return runPart("run", draft, fault, round, answer, run_id => ended({ run_id }))
  },
})

/**
 * A run in a round. The record's first leaf, which it is anchored to, comes before it.
 * @param fault of a round before: the run is a stage_error of it
 * @param rows of what the run ends, beside its own
 */
export function runPart(
  place: ItemPart["place"],
  settled: Draft,
  fault: StageFault | undefined,
  round: Round,
  answer: (run: SealedRun) => void,
  rows: (run_id: number) => Rows = () => ({}),
): ItemPart {
  const draft = fault === undefined ? settled : asStageError(settled, fault)
  const { tenant_id } = draft.tenant
  const chainAs = (run_id: number, anchor: () => FirstAnchor | undefined): Chain => {
    return () => {
      const at = { run_id, tenant_salt: tenantOf(round.tenants, tenant_id).salt }
      const record = finishRecord(draft, at, inStage("LEDGER", anchor), round.context.watch)
      const chained = chain(draft, record, round.tenants)
      const written = { leaf: chained.leaf, bytes: draft.texts.write(chained.leaf) }
      return leafed(round, written, last => () => {
        const complete_record = round.anchor(last)
        const { sealed, bundle_hash } = chained
        const bundle: Bundle = { ...record, bundle_hash, anchors: { ...record.anchors, complete_record } }
        const text = canonicalUtf8(finishSealed(sealed, bundle_hash, complete_record), draft.texts)
        const run = { draft, bundle, text }
        return {
          document: { text, verdict: BUNDLE.verdict, pack: true },
          seal: packed => ({
            rows: {
              ...runRows(run, chained, last.index, packed ?? packBundle(text)),
              ...refusedRow(run),
              ...rows(run_id),
            },
            record_id: run_id.toString(),
            counted: [bundle.run.outcome_kind],
            acknowledge: () => answer(run),
          }),
        }
      })
    }
  }
  return {
    place,
    draft,
    before: () => {
      const run_id = round.nextRunId()
      const leaf = firstLeaf(draft, run_id)
      if (leaf === undefined) return withoutLeaf(chainAs(run_id, () => undefined))
      const written = { leaf, bytes: draft.texts.write(leaf) }
      return leafed(round, written, first => chainAs(run_id, () => round.firstAnchor(first)))
    },
  }
}

type Chained = {
  readonly sealed: SealedBody
  readonly bundle_hash: string
  readonly leaf: CompleteRecordLeaf
  readonly leaf_digest: string
  readonly owner_ordinal: number
}

/** Writes into the cache of texts the parts that a record's text and the preimage of its hash share: all but the sections. */
function writeShared({ run, allow_token, manifest, anchors }: SealedBody, texts: WrittenTexts): void {
  for (const part of [run, allow_token, manifest, anchors.pre_anchor]) if (part !== undefined) texts.write(part)
}

/** Gives a record its place in the tenant's chain and moves the chain's head. */
function chain(draft: Draft, record: BundleBody, tenants: Map<string, TenantHead>): Chained {
  const { texts } = draft
  const tenant = tenantOf(tenants, draft.tenant.tenant_id)
  const sealed = reduceBody(record)
  writeShared(sealed, texts)
  const bundle_hash = bundleHash(sealed, texts)
  const leaf = completeRecordLeaf(record.run.run_id, bundle_hash, recordSeal(record), nextPlace(tenant))
  texts.write(leaf)
  const leaf_digest = leafDigest(leaf, texts)
  moveHead(tenants, tenant, leaf_digest, 1)
  return { sealed, bundle_hash, leaf, leaf_digest, owner_ordinal: tenant.run_count + 1 }
}

function runRows(
  { draft, bundle }: SealedRun,
  { leaf, leaf_digest, owner_ordinal }: Chained,
  log_index: number,
  packed: Uint8Array,
): Rows {
  const { owner } = draft.tenant
  const created_at = Date.parse(bundle.run.created_at)
  const refused = receiptOf(bundle)
  const row = {
    run_id: bundle.run.run_id,
    owner,
    owner_ordinal,
    log_index,
    created_at,
    outcome_kind: bundle.run.outcome_kind,
    error_stage: bundle.run.error_stage ?? "",
    program_id: bundle.run.program_id,
    route_id: bundle.run.route_id,
    manifest_hash: sealedHash(bundle),
    execution_region: bundle.run.execution_region,
    enforcement: bundle.sections.envelope?.enforcement ?? "",
    duration_us: bundle.run.duration_us,
    findings: findingsText(recordFindings(bundle.sections)),
    refusal: refused === undefined ? "" : refusalText(explainReceipt(refused.receipt)),
    permit_id: bundle.sections.permit?.permit_id ?? "",
    closing_outcome: bundle.sections.permit?.outcome ?? "",
    disclosure_seed: Buffer.from(draft.moment.seed, "hex"),
  } as const
  return {
    document: {
      log_index,
      owner,
      chain_ordinal: leaf.tenant_ordinal,
      kind: BUNDLE.document,
      instant: created_at,
      leaf_digest,
      packed,
    },
    run: { row, terms: { owner, owner_ordinal, terms: indexedTerms(bundle.sections) } },
  }
}

// The values of a record that `GET /runs/search` finds it by, beside the columns of its row. Decision 0124.

/** Most approvers of one run that are indexed: the first ones. */
const MAX_APPROVERS = 64

function indexedTerms(sections: Sections): readonly RunTerm[] {
  const attested = declaredOf(sections.attested_context)
  const endUser = sections.end_user && shownEndUser(sections.end_user)
  return [
    ...[...rulesOf(sections)].flatMap(id => term("rule_id", id)),
    ...term("payload_hash", sections.payload?.payload_hash),
    ...term("envelope_id", sections.envelope?.envelope_id),
    ...term("actor_id", textMember(attested, "actor_id")),
    ...term("model_name", textMember(attested, "model_name")),
    ...approversOf(declaredOf(sections.authorization_chain)).flatMap(id => term("approver", id)),
    ...term("end_user", endUser?.subject),
    ...term("end_user_issuer", endUser?.issuer),
  ]
}

/** What decided, and a signature whose match was observed only. */
const rulesOf = ({ policy_evaluation, mcd_finding }: Sections): ReadonlySet<string | undefined> =>
  new Set([policy_evaluation?.fired_rule_id, mcd_finding?.matched_signature_id])

const term = (field: TermField, value: string | undefined): readonly RunTerm[] =>
  value === undefined || value === "" ? [] : [{ field, value }]

const declaredOf = (section: DeclaredSection | undefined): JsonObject | undefined =>
  section !== undefined && isShown(section) ? section.declared : undefined

function approversOf(chain: JsonValue | undefined): readonly (string | undefined)[] {
  const approvers = member(chain, "approvers")
  return Array.isArray(approvers) ? approvers.slice(0, MAX_APPROVERS).map(item => textMember(item, "actor_id")) : []
}
