/** Who calls: what the door found out about a request, and what of it is sealed. */
import { createHmac, type KeyObject } from "node:crypto"
import type { Origin } from "@runseal/core/artifacts/declared-sections"
import type { KeyScope, KeyTier } from "@runseal/core/wire/key-requests"
import type { Tenant } from "@runseal/core/wire/submission"
import type { Context } from "hono"
import type { ActiveKey } from "../../store/tables/api-keys.ts"
import type { Counted } from "./request-counter.ts"

export type Caller = {
  /** 0 for the anonymous caller of open mode. */
  readonly api_key_id: number
  readonly tenant: Tenant
  readonly authentication: Origin["authentication"]
  readonly scope: "anonymous" | KeyScope
  /** Absent for the anonymous caller. */
  readonly tier?: KeyTier
}

declare module "hono" {
  interface ContextVariableMap {
    /** Set by the door alone, and by nothing that is read from a request. */
    caller: Caller | undefined
    /** Set by the door, where it has counted the request. */
    counted: Counted | undefined
  }
}

/** api_key_id of a caller without a key. */
export const ANONYMOUS_KEY_ID = 0

/** Every caller of open mode. */
export const ANONYMOUS: Caller = {
  api_key_id: ANONYMOUS_KEY_ID,
  tenant: { tenant_id: "anonymous", owner: ANONYMOUS_KEY_ID },
  authentication: { method: "anonymous", api_key_id: ANONYMOUS_KEY_ID },
  scope: "anonymous",
}

/** The caller who holds a key. The key, not its name, is the tenant: two keys may bear the same name. */
export const keyCaller = ({ key_id, name, scope, tier }: ActiveKey): Caller => ({
  api_key_id: key_id,
  tenant: { tenant_id: `api-key-${key_id}`, owner: key_id },
  authentication: { method: "api_key", api_key_id: key_id, api_key_name: name },
  scope,
  tier,
})

/** The caller of a request. @throws Error for a route that was put before the door: it fails, and lets nobody in */
export function callerOf(c: Context): Caller {
  const caller: Caller | undefined = c.get("caller")
  if (caller === undefined) throw new Error("this route asks for the caller and stands before the door")
  return caller
}

/** What the server seals of where a request came from: HMACs, because a bare hash of an address can be guessed. */
export function originOf(
  secret: KeyObject,
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
