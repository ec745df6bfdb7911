/** Options of permits. */
import * as v from "valibot"
import { option } from "./option-row.ts"
import { ON_OFF, RATE } from "./values.ts"

export const PERMIT_OPTIONS = {
  permits: option(
    "--permits <mode>",
    "whether `POST /permits` opens [permits](api.md#permits), which the service key signs in this process: it cannot be `on` with a remote signer",
    v.optional(v.picklist(ON_OFF)),
    { otherwise: "`on`, and `off` with `--signer-url`", choices: ON_OFF },
  ),
  permitRateLimit: option(
    "--permit-rate-limit <requests>",
    "closes of [permits](api.md#permits) a minute that one key may make; redemptions a minute that one address may make",
    v.optional(RATE, "600"),
  ),
}
