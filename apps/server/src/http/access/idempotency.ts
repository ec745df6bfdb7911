/**
 * Safe retries: the header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). A retry under the same key gets the
 * record that the first request made, from any process and after a crash.
 */
import { canonicalize, concatBytes, sha256Hex, utf8Encode } from "@runseal/canonical"
import { approvalIdSchema } from "@runseal/core/artifacts/approvals"
import type { EndUser } from "@runseal/core/artifacts/end-user"
import { permitIdSchema } from "@runseal/core/vocabulary/scalars"
import {
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENCY_KEY_MAX_LENGTH,
  IDEMPOTENCY_REPLAYED_HEADER,
  parseIdempotencyKey,
} from "@runseal/core/wire/idempotency-key"
import type { Context } from "hono"
import * as v from "valibot"
import { HttpError } from "../../http-error.ts"
import type { Database } from "../../store/driver/database.ts"
import { createGroupCommit, type Upstream } from "../../store/driver/group-commit.ts"
import { StoreError } from "../../store/driver/store-errors.ts"
import { findIdempotencyKeys, type KeyClaim, sweepKeys } from "../../store/tables/idempotency-keys.ts"
import { callerOf, identityOf } from "./caller.ts"
import { createHousekeeping } from "./housekeeping.ts"

/** A key is stored at least this long. */
export const KEY_KEPT_MS = 86_400_000

/** Keys that one statement reads. */
const MAX_LOOKUPS_PER_STATEMENT = 256
/** Requests that may wait in the queue for their key to be read; one more is answered 503 at once. */
const MAX_WAITING_LOOKUPS = 4096
/** Older keys are deleted at most this often by one process … */
const SWEEP_EVERY_MS = 1000
/** … and at most so many by one statement. */
const SWEEP_MAX_ROWS = 5000
/** Seconds after which to retry while the first request is under way. */
const RETRY_AFTER_SECONDS = "1"

/**
 * The key of a request; undefined without the header. A key belongs to its caller and endpoint. A retry must have the same
 * body, byte for byte: a client that retries has those bytes, and they are compared without being parsed. It must be for the same end user,
 * whose token may be another one by then.
 * @throws HttpError 400 for a malformed key
 */
export function claimOf(c: Context, body: Uint8Array): KeyClaim | undefined {
  const field = c.req.header(IDEMPOTENCY_KEY_HEADER)
  if (field === undefined) return undefined
  const endpoint = c.get("endpoint")
  if (endpoint?.idempotent === undefined && endpoint?.once === undefined)
    throw new Error("the row of this endpoint takes no idempotency key")
  const key = parseIdempotencyKey(field)
  if (key === undefined)
    throw new HttpError(
      "invalid_idempotency_key",
      `${IDEMPOTENCY_KEY_HEADER} must be one string of 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} printable ASCII characters, in double quotes.`,
    )
  const request = utf8Encode(`${c.req.method} ${c.req.path}\n`)
  const owner = utf8Encode(`idempotency_key\n${identityOf(callerOf(c))}\n`)
  return {
    key_hash: sha256Hex(concatBytes(owner, request, utf8Encode(key))),
    request_digest: sha256Hex(concatBytes(personOf(c.get("endUser")), request, body)),
  }
}

/** Nothing without an end user; a request line begins with its method. */
const personOf = (endUser: EndUser | undefined): Uint8Array =>
  endUser === undefined
    ? new Uint8Array(0)
    : utf8Encode(`${canonicalize({ issuer: endUser.issuer, subject: endUser.subject })}\n`)

/**
 * What an action of an administrator uses up in its transaction, so that it is done once: the hash of the request's key. It is stored for ever,
 * and no answer is repeated under it, because that would be a secret. @throws HttpError 400 for a malformed key
 */
export const onceOf = (c: Context): string | undefined => claimOf(c, new Uint8Array(0))?.key_hash

/** What a request made, or the id of the record that the first request under its key had made. */
export type MadeOrRecorded<Made> = { readonly made: Made } | { readonly record_id: string }

export type IdempotencyKeys = Upstream & {
  /**
   * Calls `make`, unless the key has a record. After a failure of the store the key is read once more: another process may
   * have been first, or the commit took effect although its answer was lost. So it is where a permit is not open: an earlier attempt of this
   * request may have closed it since the key was read. A request without a key is made.
   * @throws HttpError 409 when the key was used with another body, or a request under it is under way in this process
   */
  readonly once: <Made>(claim: KeyClaim | undefined, make: () => Promise<Made>) => Promise<MadeOrRecorded<Made>>
  readonly close: () => Promise<void>
}

/** @param acknowledge resolves when a record that was found may be answered with */
export function openIdempotencyKeys(
  db: Database,
  nowMs: () => number,
  acknowledge: () => Promise<void>,
): IdempotencyKeys {
  const sweeping = createHousekeeping(at => sweepKeys(db, at - KEY_KEPT_MS, SWEEP_MAX_ROWS), SWEEP_EVERY_MS)
  const lookups = createGroupCommit(
    async (hashes: readonly string[]) => {
      const found = new Map((await findIdempotencyKeys(db.quick, hashes)).map(key => [key.key_hash, key]))
      sweeping.due(nowMs())
      return hashes.map(hash => found.get(hash) ?? hash)
    },
    { batch: MAX_LOOKUPS_PER_STATEMENT, waiting: MAX_WAITING_LOOKUPS, readsOnly: true },
  )
  const claimed = new Set<string>()
  const recordOf = async ({ key_hash, request_digest }: KeyClaim): Promise<string | undefined> => {
    const stored = await lookups.submit(key_hash)
    if (typeof stored === "string" || stored.record_id === "") return undefined
    if (stored.request_digest !== request_digest) throw anotherRequest(stored.record_id)
    await acknowledge()
    return stored.record_id
  }
  const makeOrFind = async <Made>(claim: KeyClaim, make: () => Promise<Made>): Promise<MadeOrRecorded<Made>> => {
    const record_id = await recordOf(claim)
    if (record_id !== undefined) return { record_id }
    try {
      return { made: await make() }
    } catch (error) {
      if (!mayBeMade(error)) throw error
      const first = await recordOf(claim).catch((further: unknown) => {
        throw further instanceof StoreError ? error : further
      })
      if (first === undefined) throw error
      return { record_id: first }
    }
  }
  return {
    once: async (claim, make) => {
      if (claim === undefined) return { made: await make() }
      if (claimed.has(claim.key_hash)) throw stillUnderWay()
      claimed.add(claim.key_hash)
      try {
        return await makeOrFind(claim, make)
      } finally {
        claimed.delete(claim.key_hash)
      }
    },
    underWay: lookups.underWay,
    close: async () => {
      await lookups.close()
      await sweeping.close()
    },
  }
}

/** Whether the first request under a key may be the reason for an error of the second. */
const mayBeMade = (error: unknown): boolean =>
  error instanceof StoreError || (error instanceof HttpError && error.code === "permit_not_open")

/** The header field of an answer to a retry. */
export const replayedField = (settled: MadeOrRecorded<unknown>): Record<string, string> =>
  "made" in settled ? {} : { [IDEMPOTENCY_REPLAYED_HEADER]: "true" }

/** Without Retry-After: no retry of this request under this key succeeds. @param recordId of what was made under the key */
const anotherRequest = (recordId: string): HttpError =>
  new HttpError(
    "idempotency_key_reused",
    `This ${IDEMPOTENCY_KEY_HEADER} was used with another body, or for another end user; a new request needs a new key.`,
    locationOf(recordId),
  )

/** Of a permit, a request for an approval or a run; attestations are not read one by one. */
function locationOf(recordId: string): Readonly<Record<string, string>> {
  if (v.is(permitIdSchema, recordId)) return { Location: `/permits/${recordId}` }
  if (v.is(approvalIdSchema, recordId)) return { Location: `/approvals/${recordId}` }
  return /^\d+$/.test(recordId) ? { Location: `/runs/${recordId}` } : {}
}

const stillUnderWay = (): HttpError =>
  new HttpError(
    "request_in_progress",
    `A request with this ${IDEMPOTENCY_KEY_HEADER} is still under way; its answer comes on a retry.`,
    {
      "Retry-After": RETRY_AFTER_SECONDS,
    },
  )
