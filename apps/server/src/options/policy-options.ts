/** Options of what is decided on a run, and whether that stops it. */
import { MCD_MODES, MCD_SCOPES } from "@runseal/core/vocabulary/decision-codes"
import * as v from "valibot"
import { option } from "./option-row.ts"
import { MCD_DISABLED, MCD_SCOPE } from "./values.ts"

/** Whether what is decided on a run stops it. */
const MODES = ["enforce", "observe"] as const

/** Who may ask for what is only observed. */
const ALLOW_OBSERVE = ["keys", "everybody", "nobody"] as const

/** Who is shown what the policy says of a refusal. */
const EXPLAIN = ["owner", "admins"] as const

export const POLICY_OPTIONS = {
  mode: option(
    "--mode <mode>",
    "whether a refusal stops the run: `enforce`, or `observe`, which decides and seals the same, answers 200 and [marks the record](concepts.md#observed-run)",
    v.optional(v.picklist(MODES), "enforce"),
    { choices: MODES },
  ),
  allowObserve: option(
    "--allow-observe <who>",
    "who may ask for a run or permit that is [only observed](concepts.md#observed-run): `keys` made with `observe` (and everybody in open mode), `everybody`, or `nobody`; with `--mode observe` every run is one",
    v.optional(v.picklist(ALLOW_OBSERVE), "keys"),
    { choices: ALLOW_OBSERVE },
  ),
  explain: option(
    "--explain <who>",
    "who is shown how a rule that refused is described and what it read ([explanation](api.md#explanation)): `owner` (the key that made the run, auditors and admins), or `admins`, where an agent could find out the limits of rules by trying",
    v.optional(v.picklist(EXPLAIN), "owner"),
    { choices: EXPLAIN },
  ),
  policyFile: option("--policy <file>", "[policy document](policy-and-review.md), JSON", v.optional(v.string()), {
    otherwise: "the built-in policy that admits every run",
  }),
  mcdMode: option(
    "--mcd-mode <mode>",
    "what a [signature match](policy-and-review.md#the-signature-scan) does: `enforce` denies the run, `observe` records a finding; part of `policy_hash`",
    v.optional(v.picklist(MCD_MODES), "enforce"),
    { choices: MCD_MODES },
  ),
  mcdScope: option(
    "--mcd-scope <parts>",
    "what the signature scan searches, with commas between: `payload`, `ai_output`, `declared` (the route and the declared sections); part of `policy_hash`",
    v.optional(MCD_SCOPE, MCD_SCOPES.join(",")),
  ),
  mcdDisable: option(
    "--mcd-disable <id>",
    "signature that is not searched for, such as `MCD-FE-005`; repeatable, the variable holds several with spaces between; part of `policy_hash`",
    v.optional(MCD_DISABLED),
    { repeatable: true },
  ),
}
