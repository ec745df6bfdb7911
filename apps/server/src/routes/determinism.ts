/**
 * `POST /execute/verify-determinism`: the same input twice under one pinned clock and nonce. docs/api.md, "POST
 * /execute/verify-determinism".
 */
import type { JsonObject } from "@runseal/canonical"
import { canonicalize } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle"
import { sealedHash } from "@runseal/core/artifacts/bundle"
import type { DeterminismAnswer } from "@runseal/core/wire/runs"

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
