/**
 * Names of fields of the declared sections. docs/api.md, "POST /execute", has them in its table. Most runs
 * hold many of them, so the scan looks at each once, when its library is compiled.
 */
import { ATTESTED_FIELDS } from "@runseal/core/vocabulary/decision-codes"

export const FIELD_NAMES: readonly string[] = [
  ...ATTESTED_FIELDS,
  ...["prompt", "output", "post_processing", "cost", "latency", "origin", "authentication"],
  ...["hash", "template_id", "input_tokens", "output_tokens", "total_tokens"],
  ...["approvers", "order", "approved_at", "approved_request_hash", "signature", "comment"],
  ...["threshold_checks", "name", "threshold_value", "observed_value", "unit", "operator", "breached"],
  ...["human_in_loop", "required", "performed", "performed_by", "performed_at", "review_mode", "review_outcome"],
  ...["data_classification", "effect_log", "effect_kind", "target", "status", "issued_at", "ack_hash"],
  ...["runtime", "dependencies", "seeds", "platform"],
]
