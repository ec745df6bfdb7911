/** Making a key. docs/api.md, "POST /admin/keys"; docs/operations.md, "Keys of callers". */
import { CUSTOMER_NAME_PREFIX, type MintedKey, type MintKeyRequest } from "@runseal/core/wire/keys"
import type { Database } from "../store/driver/database.ts"
import { insertKey, type Minter } from "../store/tables/api-keys.ts"
import { newSecret, secretHash } from "./api-key.ts"

const HINT =
  "Keep the secret now: only its hash is stored, and it is not shown again. Send it in the header X-Service-Key."

/**
 * Makes a key and gives its secret, this once.
 * @param request as its schema judged it
 * @returns undefined when the minter may not make keys; nothing was made then
 */
export async function mintKey(
  db: Database,
  request: MintKeyRequest,
  minter: Minter,
  nowMs: number,
): Promise<MintedKey | undefined> {
  const scope = request.scope ?? "customer"
  const name = scope === "admin" ? request.name : CUSTOMER_NAME_PREFIX + request.name
  const tier = request.tier ?? (scope === "admin" ? "production" : "trial")
  const secret = newSecret()
  const id = await insertKey(db, { name, secret_hash: secretHash(secret), scope, tier, created_at: nowMs }, minter)
  return id === undefined ? undefined : { ok: true, id, name, secret, tier, hint: HINT }
}
