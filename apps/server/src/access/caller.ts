/** Who calls. In this release every deployment is in open mode: callers are anonymous, key 0. */
import { createHmac } from "node:crypto"
import type { Origin } from "@runseal/core/artifacts/declared-sections"
import type { Context } from "hono"
import type { Tenant } from "../pipeline/submission.ts"

export type Caller = {
  readonly api_key_id: number
  readonly tenant: Tenant
  readonly authentication: Origin["authentication"]
}

/** api_key_id of a caller without a key. */
export const ANONYMOUS_KEY_ID = 0
const ANONYMOUS: Caller = {
  api_key_id: ANONYMOUS_KEY_ID,
  tenant: { tenant_id: "anonymous", owner: ANONYMOUS_KEY_ID },
  authentication: { method: "anonymous", api_key_id: ANONYMOUS_KEY_ID },
}

/** The caller of a request. */
export const callerOf = (_c: Context): Caller => ANONYMOUS

/** What the server seals of where a request came from: HMACs, because a bare hash of an address can be guessed. */
export function originOf(
  secret: Uint8Array,
  caller: Caller,
  address: string | undefined,
  userAgent: string | undefined,
): Origin {
  const mac = (name: string, value: string): string =>
    createHmac("sha256", secret).update(`${name}\n${value}`).digest("hex")
  return {
    source_ip_hash: mac("source_ip", address ?? ""),
    user_agent_hash: mac("user_agent", userAgent ?? ""),
    authentication: caller.authentication,
  }
}
