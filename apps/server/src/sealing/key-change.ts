/**
 * Changes the log's signing keys, and revokes old ones. A change is an entry of the log, signed with the service key in force before
 * it; rows, entry and head are one transaction. docs/formats.md section 7.5; decision 0095.
 */

import { sha256Hex } from "@runseal/canonical"
import type { KeyChangeLeaf } from "@runseal/core/artifacts/anchor"
import { keyChangeLeaf, leafDigest, leafText } from "@runseal/core/formulas/leaves"
import { KEY_ROLES, type KeyRole } from "@runseal/core/vocabulary/key-roles"
import { MAX_KEY_CHANGES } from "@runseal/core/wire/log-answers"
import { formatUtcSeconds } from "@runseal/log/keys/validity"
import { parseOrigin } from "@runseal/log/notes/checkpoint"
import { openHeadsFolder } from "../heads/head-files.ts"
import { type Heads, openHeads } from "../heads/heads.ts"
import { idsOf, type SigningKeys } from "../keys/ecdsa-keys.ts"
import { createNextKeys, readNextKeys, takeNextKeys } from "../keys/key-file.ts"
import type { Config } from "../options/config.ts"
import { StartupError } from "../options/startup-error.ts"
import type { RemoteSigner } from "../options/table.ts"
import type { Database } from "../store/driver/database.ts"
import type { Tx } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { OPERATOR_COMMAND, recordAdminEvent } from "../store/tables/admin-events.ts"
import { readDeployment } from "../store/tables/deployment-table.ts"
import { type LogHeadRow, lockHead } from "../store/tables/log-store.ts"
import {
  endEpoch,
  insertKeyChange,
  insertSigningKeys,
  readKeyChanges,
  readSigningKeys,
  retireKey,
  revokeSigningKey,
  type SigningKeyRow,
} from "../store/tables/signing-keys.ts"
import { type LogClock, nextLogTime, openLogClock } from "./log-clock.ts"
import { appendAlone, type Deployment, fetchRemoteKey, openDeployment } from "./pinned-deployment.ts"

/** A retired key and its successor. */
type ChangedKey = { readonly role: KeyRole; readonly retired: string; readonly key_id: string }

export type LogKeyChange = {
  readonly changed: readonly ChangedKey[]
  /** Of the entry that names the new keys. */
  readonly log_index: number
  /** Unix seconds. */
  readonly log_time: number
  /** Whether this finished a change that was interrupted before. */
  readonly resumed: boolean
}

export type KeyChangeParts = {
  readonly db: Database
  readonly config: Config
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
}

const CHANGED_MEANWHILE = "The keys were changed by somebody else meanwhile; see keys list."

/**
 * Makes fresh keys for these roles and puts them in force, in three steps: the new keys are stored beside the old ones, the
 * database records that they are in force, they replace the old files. After an interruption, the next start or the next change
 * continues from the last step. A change that was interrupted before the database recorded it is finished first, and alone.
 * @param signer of the next service key; absent: the key is made in the keys folder
 * @throws StartupError with one sentence
 */
export async function changeKeys(
  parts: KeyChangeParts,
  roles: readonly KeyRole[],
  signer?: RemoteSigner,
): Promise<LogKeyChange> {
  const { db, config } = parts
  return withDeployment(parts, async (deployment, heads, clock) => {
    const interrupted = readNextKeys(config.keysDir)
    const next = interrupted ?? createNextKeys(config.keysDir, roles, await fetchRemoteKey(signer))
    const changed = changesOf(deployment.keys, next)
    if (changed.length === 0) throw new StartupError(CHANGED_MEANWHILE)
    if (changed.some(({ key_id }) => deployment.signingKeys.some(row => row.key_id === key_id)))
      throw new StartupError(`${config.keysDir} holds next keys of which one was retired already: remove that file.`)
    const { head, log_index } = await db.transaction(async tx => {
      const before = await lockDeployment(tx, deployment, heads)
      await clock.check(tx, before).catch(refuse)
      const time = nextLogTime(before.log_time, clock.nowMs())
      return appendChange(tx, before, { deployment, next, changed, time, nowMs: clock.nowMs })
    })
    await heads.remember(head)
    takeNextKeys(config.keysDir, idsOf(next))
    return { changed, log_index, log_time: head.log_time, resumed: interrupted !== undefined }
  })
}

/**
 * Revokes a retired key: from a log time on, its signatures do not count. The time can be set earlier later; the revocation cannot
 * be undone.
 * @param from Unix seconds
 * @throws StartupError with one sentence
 */
export async function revokeRetiredKey(parts: KeyChangeParts, key_id: string, from: number): Promise<SigningKeyRow> {
  return withDeployment(parts, (deployment, heads) =>
    parts.db.transaction(async tx => {
      await lockDeployment(tx, deployment, heads)
      const key = (await readSigningKeys(tx)).find(row => row.key_id === key_id)
      if (key === undefined) throw new StartupError("This log never had a key of that id; see keys list.")
      const objection = objectionTo(key, from)
      if (objection !== undefined) throw new StartupError(objection)
      await revokeSigningKey(tx, key_id, from)
      await recordAdminEvent(tx, {
        at: parts.nowMs(),
        who: OPERATOR_COMMAND,
        action: "signing_key.revoke",
        subject: { kind: "signing_key", id: key_id },
        after: { role: key.role, revoked_from: formatUtcSeconds(from) },
      })
      await endEpoch(tx)
      return { ...key, revoked_from: from }
    }),
  )
}

function objectionTo({ role, valid_from, valid_to, revoked_from }: SigningKeyRow, from: number): string | undefined {
  if (valid_to === 0) return `This key is in force: change it first, with keys rotate ${role}, then revoke it.`
  if (from < valid_from) return `This key signs only since ${formatUtcSeconds(valid_from)}: revoke it from then on.`
  if (from > valid_to) return `This key signs nothing since ${formatUtcSeconds(valid_to)}: a later revocation is none.`
  if (revoked_from !== 0 && from > revoked_from)
    return `This key is revoked from ${formatUtcSeconds(revoked_from)} already, and that is not taken back.`
  return undefined
}

/** Every key the log ever had, oldest first. @throws StartupError when there is no log yet */
export async function listSigningKeys({ db }: Pick<KeyChangeParts, "db">): Promise<readonly SigningKeyRow[]> {
  if ((await readDeployment(db)) === undefined) throw noLog()
  return readSigningKeys(db)
}

/** Origin of the log, `<host> - <decimal tree id>`. @throws StartupError */
export async function readOrigin({ db }: Pick<KeyChangeParts, "db">): Promise<string> {
  const row = await readDeployment(db)
  if (row === undefined) throw noLog()
  return row.origin
}

const noLog = (): StartupError =>
  new StartupError("This database holds no log yet: the first start of the service makes its keys.")

/** Opens the deployment as a start of the service does, with the same refusals. */
async function withDeployment<T>(
  { db, config, nowMs }: KeyChangeParts,
  work: (deployment: Deployment, heads: Heads, clock: LogClock) => Promise<T>,
): Promise<T> {
  const clock = openLogClock({ nowMs, uptimeMs: nowMs }, config)
  // A command names no log: it is the one of this database.
  const logOrigin = parseOrigin(await readOrigin({ db }))?.host ?? config.logOrigin
  const heads = openHeads({ ...openHeadsFolder(config, db), nowMs: clock.nowMs })
  try {
    return await work(await openDeployment(db, { ...config, logOrigin }, heads, clock), heads, clock)
  } finally {
    await heads.close()
  }
}

/** The log's head, locked, if it is still that of the deployment. */
async function lockDeployment(tx: Tx, { epoch }: Deployment, heads: Heads): Promise<LogHeadRow> {
  const head = await lockHead(tx)
  if (head.epoch !== epoch) throw new StartupError(CHANGED_MEANWHILE)
  await heads.contains(tx, head).catch(refuse)
  return head
}

/** @throws StartupError for what a batch would be refused for */
function refuse(cause: unknown): never {
  throw cause instanceof StoreError ? new StartupError(cause.message, { cause }) : cause
}

function changesOf(keys: SigningKeys, next: SigningKeys): readonly ChangedKey[] {
  const [before, after] = [idsOf(keys), idsOf(next)]
  return KEY_ROLES.filter(role => before[role] !== after[role]).map(role => ({
    role,
    retired: before[role],
    key_id: after[role],
  }))
}

type Appending = {
  readonly deployment: Deployment
  readonly next: SigningKeys
  readonly changed: readonly ChangedKey[]
  /** Unix seconds. */
  readonly time: number
  readonly nowMs: () => number
}

async function appendChange(
  tx: Tx,
  before: LogHeadRow,
  { deployment, next, changed, time, nowMs }: Appending,
): Promise<{ readonly head: LogHeadRow; readonly log_index: number }> {
  const { origin, genesis } = deployment
  const changes = await readKeyChanges(tx)
  if (changes.length >= MAX_KEY_CHANGES)
    throw new StartupError(`The keys of a log change ${MAX_KEY_CHANGES} times at most: begin a new deployment.`)
  const ids = idsOf(next)
  const leaf: KeyChangeLeaf = keyChangeLeaf({
    origin,
    change_clock: new Date(nowMs()).toISOString(),
    previous_keys: changes.length === 0 ? leafDigest(genesis) : sha256Hex(changes.at(-1)?.leaf ?? ""),
    service_key_id: ids.service,
    log_key_id: ids.log,
    checkpoint_key_id: ids.checkpoint,
  })
  const log_index = before.size
  const head = await appendAlone(tx, deployment, leaf, { ...before, log_time: time, epoch: before.epoch + 1 }, next)
  await insertKeyChange(tx, { log_index, leaf: leafText(leaf) })
  for (const { retired } of changed) await retireKey(tx, retired, time)
  const born = { valid_from: time, valid_to: 0, revoked_from: 0 }
  const rows = changed.map(({ role, key_id }) => ({ key_id, role, spki: next[role].spki, ...born }))
  await insertSigningKeys(tx, rows)
  await recordAdminEvent(tx, {
    at: nowMs(),
    who: OPERATOR_COMMAND,
    action: "signing_keys.rotate",
    subject: { kind: "log", id: origin },
    before: Object.fromEntries(changed.map(({ role, retired }) => [role, retired])),
    after: Object.fromEntries(changed.map(({ role, key_id }) => [role, key_id])),
  })
  return { head, log_index }
}
