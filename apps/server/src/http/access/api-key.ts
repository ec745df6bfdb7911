/** An API key and its secret: how they are made, written and stored. docs/api.md, "Keys" and "POST /admin/keys". */
import { createHash, randomBytes } from "node:crypto"
import type { JsonObject } from "@runseal/canonical"
import {
  CUSTOMER_NAME_PREFIX,
  KEY_SECRET_PATTERN,
  type KeyScope,
  type MintedKey,
  type MintKeyRequest,
  type RotatedKey,
} from "@runseal/core/wire/key-requests"
import type { Acts, NewAdminEvent } from "../../store/tables/admin-events.ts"
import { insertKey, type KeySettings, type Minter } from "../../store/tables/api-keys.ts"
import { type KeyAct, replaceSecret, settingsInEvent, type Unchanged } from "../../store/tables/changed-keys.ts"

/** What begins every secret, by which scanners of sources and logs recognise one. */
const MARK = "rsk_"
/** 192 random bits: neither a secret, nor another text with its hash, can be found by trying. */
const SECRET_BYTES = 24

/** How secrets are made here. */
type SecretForm = {
  /** What proxies route by, `--key-prefix`; undefined: nothing. */
  readonly keyPrefix: string | undefined
}

/** A new secret, which is shown once and not stored. */
const newSecret = ({ keyPrefix }: SecretForm): string =>
  `${MARK}${keyPrefix === undefined ? "" : `${keyPrefix}_`}${randomBytes(SECRET_BYTES).toString("hex")}`

/** Whether a text has the form of a secret, with any prefix; any other text is refused without a database query. */
export const isSecret = (text: string): boolean => KEY_SECRET_PATTERN.test(text)

/**
 * What is stored of a secret, and looked up: SHA-256 of its text, in hex. The look-up need not take constant time: its time
 * reveals something of a hash, and no caller can make a secret that has a chosen hash.
 */
export const secretHash = (secret: string): string => createHash("sha256").update(secret).digest("hex")

const HINT =
  "Keep the secret now: only its hash is stored, and it is not shown again. Send it in the header X-Service-Key."
const LOCKED = " This was the first key: from now on the service is locked, and every request needs a key."
/** For the most frequent mistake: nobody can administer the service over HTTP any more. */
const NO_ADMIN =
  ' It is a customer key, so that there is no admin key and no key can use /admin/*. To get one, run the server\'s command on its machine with --mint-admin-key <name>: docs/when-it-is-down.md, "No admin key is left".'

/** Only the first key is made by an anonymous caller. */
const hintOf = (scope: KeyScope, minter: Minter): string =>
  minter.kind === "anonymous" ? HINT + LOCKED + (scope === "admin" ? "" : NO_ADMIN) : HINT

/** The settings of a new key, as the store has them. */
const settingsOf = (request: MintKeyRequest): KeySettings => ({
  notes: request.notes ?? "",
  expires_at: request.expires_at === undefined ? 0 : Date.parse(request.expires_at),
  run_token_budget: request.run_token_budget ?? -1,
  window_token_budget: request.window_token_budget ?? -1,
  rate_limit: request.rate_limit ?? -1,
  reads: request.reads === undefined ? "" : JSON.stringify(request.reads),
  share: request.share === true,
  observe: request.observe === true,
  groups: request.groups === undefined ? "" : JSON.stringify(request.groups),
  persons: request.persons === undefined ? "" : JSON.stringify(request.persons),
})

/** What the event of a new key says of it: of persons only where it names some. */
const eventOf = ({ person, groups, persons, ...settings }: KeySettings & { readonly person: string }): JsonObject => ({
  ...settingsInEvent({
    ...settings,
    ...(groups === "" ? {} : { groups }),
    ...(persons === "" ? {} : { persons }),
  }),
  ...(person === "" ? {} : { person }),
})

/**
 * Makes a key and returns its secret, this once.
 * @param request validated by its schema
 * @throws AlreadyDone
 * @returns undefined when the minter may not make keys; nothing was made then
 */
export async function mintKey(
  acts: Acts,
  request: MintKeyRequest,
  minter: Minter,
  { at, once, ...form }: Pick<NewAdminEvent, "at" | "once"> & SecretForm,
): Promise<MintedKey | undefined> {
  const scope: KeyScope = request.scope ?? "customer"
  const name = scope === "customer" ? CUSTOMER_NAME_PREFIX + request.name : request.name
  const tier = request.tier ?? (scope === "customer" ? "trial" : "production")
  const secret = newSecret(form)
  const settings = settingsOf(request)
  const person = request.person ?? ""
  const key = { name, secret_hash: secretHash(secret), scope, tier, created_at: at, person, ...settings }
  const id = await insertKey(acts, key, minter, {
    after: { scope, name, tier, ...eventOf({ person, ...settings }) },
    once,
  })
  return id === undefined ? undefined : { ok: true, id, name, secret, tier, hint: hintOf(scope, minter) }
}

/**
 * Gives a key a new secret and returns it, this once.
 * @param overlapMs for which the secret before it still works
 */
export async function rotateKey(
  acts: Acts,
  { overlapMs, keyPrefix, ...change }: KeyAct & SecretForm & { readonly overlapMs: number },
): Promise<RotatedKey | Unchanged> {
  const secret = newSecret({ keyPrefix })
  const overlap_until = overlapMs === 0 ? 0 : change.at + overlapMs
  const rotated = await replaceSecret(acts, change, { secret_hash: secretHash(secret), overlap_until })
  if (typeof rotated === "string") return rotated
  const { key_id: id, name } = rotated
  const overlap = overlap_until === 0 ? {} : { overlap_until: new Date(overlap_until).toISOString() }
  return { ok: true, id, name, secret, ...overlap, hint: HINT }
}
