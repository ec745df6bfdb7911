/**
 * How a run is answered: the answers of `POST /execute`, of the close of a permit and of the determinism check, derived from bundles; why it was refused; and
 * until when the answer waits. docs/api.md, "POST /execute".
 */
import { canonicalize, type JsonObject } from "@runseal/canonical"
import { type Bundle, durationMs, receiptOf, sealedHash } from "@runseal/core/artifacts/bundle-schema"
import { recordFindings } from "@runseal/core/artifacts/record-findings"
import { OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import type { DeterminismAnswer } from "@runseal/core/wire/run-summaries"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import { callerOf } from "../access/caller.ts"

/**
 * The answer of a run. An observed run that enforcement would have refused is answered with the same members, and with what says that it was
 * not: status 200, `ok` true and the mark.
 * @param refusal why a gate refused the run; behind the sealed sentence, so that a caller who sees `error` alone knows what to change
 * @param ignored unknown members of the body, which the answer names: a misspelt `ai_output_text` is reviewed by nobody
 */
export function executeAnswer(
  bundle: Bundle,
  refusal: ShownRefusal,
  ignored: { readonly ignored?: string[] } = {},
): { readonly status: 200 | 422 | 500; readonly body: JsonObject } {
  const { run, sections, manifest, partial_manifest, allow_token } = bundle
  const { http_status: status, sentence } = OUTCOMES[run.outcome_kind]
  const findings = recordFindings(sections)
  const enforcement = sections.envelope?.enforcement
  const base = {
    run_id: run.run_id,
    duration_ms: durationMs(run),
    ...(findings.length === 0 ? {} : { findings }),
    ...(enforcement === undefined ? {} : { enforcement, outcome_kind: run.outcome_kind }),
    ...ignored,
  }
  if (manifest !== undefined && allow_token !== undefined)
    return { status, body: { ok: true, ...base, manifest, allow_token } }
  const found = receiptOf(bundle)
  const refused = {
    ok: enforcement !== undefined,
    ...base,
    error: [run.error_message ?? sentence, ...(refusal === undefined ? [] : [`Cause: ${refusal.cause}.`])].join(" "),
    error_stage: run.error_stage ?? "",
    ...(partial_manifest === undefined ? {} : { partial_manifest }),
    ...(refusal === undefined ? {} : { explanation: refusal.explanation }),
    ...(found === undefined ? {} : { [found.key]: found.receipt }),
  }
  return { status: enforcement === undefined ? status : 200, body: refused }
}

const manifestOf = ({ manifest, partial_manifest, attestation_gap_receipt }: Bundle): JsonObject =>
  manifest ?? partial_manifest ?? attestation_gap_receipt ?? {}

function differingFields(first: Bundle, second: Bundle): readonly string[] {
  const [a, b] = [manifestOf(first), manifestOf(second)]
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
  const spelt = (value: JsonObject, name: string): string | undefined => {
    const found = value[name]
    return found === undefined ? undefined : canonicalize(found)
  }
  const fields = names.filter(name => spelt(a, name) !== spelt(b, name))
  return first.run.outcome_kind === second.run.outcome_kind ? fields : ["outcome_kind", ...fields]
}

/** The same input twice under one pinned clock and nonce. docs/api.md, "POST /execute/verify-determinism". */
export function determinismAnswer([first, second]: readonly [Bundle, Bundle]): DeterminismAnswer {
  const differing_fields = differingFields(first, second)
  const differs = differing_fields.length > 0
  return {
    ok: true,
    deterministic: !differs,
    first: { manifest_hash: sealedHash(first) },
    second: { manifest_hash: sealedHash(second) },
    diff: { differs, differing_fields },
  }
}

// Why a run was refused, as its caller is shown it. docs/api.md, "Explanation".

/** Undefined of a run that no gate refused. */
export type ShownRefusal = Awaited<ReturnType<Deps["policies"]["explain"]>>

/** Whether the caller, who reads a record, is shown what the policy says of its refusal. */
export const seesRules = (c: Context, { explaining }: Pick<Deps, "explaining">): boolean =>
  explaining === "owner" || callerOf(c).scope === "admin"

/** The refusal of a record that the caller reads; undefined for a run that no gate refused. */
export const explained = (
  c: Context,
  deps: Pick<Deps, "policies" | "explaining">,
  record: Parameters<Deps["policies"]["explain"]>[0],
): Promise<ShownRefusal> => deps.policies.explain(record, seesRules(c, deps))

// In sync mode an answer waits until the outside log holds the record too.

/** Seconds after which a caller may retry while the entry is being delivered. */
const RETRY_AFTER_SECONDS = "5"

/**
 * Waits until the outside log holds an entry and all that are delivered before it. Returns at once where answers do not wait for the
 * outside log, and for an entry that is older than its configuration.
 * @param what is sealed, for the sentence to the caller
 * @throws HttpError 503 after the timeout: the record is sealed, and its delivery goes on
 */
export async function untilOutside({ outside }: Pick<Deps, "outside">, what: string, logIndex: number): Promise<void> {
  if (outside === undefined || outside.log.mode === "async" || (await outside.untilPassed(logIndex))) return
  const sentence = `${what} is sealed, and its entry in the outside log is still on its way; a repeat under the same Idempotency-Key waits for it.`
  throw new HttpError("entry_pending", sentence, { "Retry-After": RETRY_AFTER_SECONDS })
}

/** Waits until the outside log holds the last entry of a record, in sync mode. @throws HttpError 503 */
export async function untilRecorded(deps: Pick<Deps, "outside">, { run, anchors }: Bundle): Promise<void> {
  const last = anchors.complete_record?.entry.logIndex
  if (last !== undefined) await untilOutside(deps, `Run ${run.run_id}`, Number(last))
}
