/**
 * A deployment's identity: keys, log origin, genesis. The first start fixes it. A start with other values, or on a database
 * older than what was acknowledged, is refused. docs/formats.md section 7.4; docs/keys-and-backups.md, "Backup and restore".
 */
import { randomInt } from "node:crypto"
import { parseStrictJson } from "@runseal/canonical"
import type { GenesisLeaf, KeyChangeLeaf } from "@runseal/core/artifacts/anchor"
import { genesisLeaf } from "@runseal/core/formulas/leaves"
import { KEY_ROLES } from "@runseal/core/vocabulary/key-roles"
import { type KeyChangesAnswer, readKeyChangesAnswer } from "@runseal/core/wire/log-answers"
import { parseOrigin } from "@runseal/log/notes/checkpoint"
import type { Heads } from "../heads/heads.ts"
import { idsOf, type SigningKeys, sameIds } from "../keys/ecdsa-keys.ts"
import { growLog, type LogIdentity, publicCheckpoint, signAndAppend } from "../keys/embedded-log.ts"
import { createKeys, findSigningKeys, readKeys } from "../keys/key-file.ts"
import { fetchPublicKey, remoteKey, SignerFailure } from "../keys/remote-signer.ts"
import type { Config } from "../options/config.ts"
import { StartupError } from "../options/startup-error.ts"
import type { RemoteSigner } from "../options/table.ts"
import type { Database } from "../store/driver/database.ts"
import { RECORD_FORMAT } from "../store/driver/migrate.ts"
import type { Source, Tx } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { type DeploymentRow, pinDeployment, readDeployment } from "../store/tables/deployment-table.ts"
import { appendEntries, type LogHeadRow, loadFrontier, lockHead, readHead } from "../store/tables/log-store.ts"
import {
  idsInForce,
  insertSigningKeys,
  type KeyIds,
  readKeyChanges,
  readSigningKeys,
  type SigningKeyRow,
} from "../store/tables/signing-keys.ts"
import type { LogClock } from "./log-clock.ts"

/** A tree id is a positive decimal; 48 bits keep two deployments apart. */
const MAX_TREE_ID = 2 ** 48 - 1

export type Deployment = {
  readonly keys: SigningKeys
  /** `<host> - <decimal tree id>`. */
  readonly origin: string
  /** Unix seconds of the log's birth. */
  readonly genesisAt: number
  readonly genesis: GenesisLeaf
  /** The public halves of all keys the log ever had, oldest first. */
  readonly signingKeys: readonly SigningKeyRow[]
  readonly keyChanges: KeyChangesAnswer["changes"]
  /** The head's epoch: once it has another one, these keys append nothing. */
  readonly epoch: number
  /** Whether this start made the log, with keys that were there already. */
  readonly isAnotherLog: boolean
}

/**
 * Opens the deployment, and has the clock go on by what was confirmed of it. One that does not fit the log refuses no start: it seals nothing.
 * @throws StartupError when keys, origin or database do not belong together
 */
export async function openDeployment(
  db: Database,
  config: Config,
  heads: Pick<Heads, "start" | "read">,
  clock: Pick<LogClock, "nowMs" | "trouble">,
): Promise<Deployment> {
  const found = await readDeployment(db)
  if (found === undefined && heads.read().length > 0)
    throw new StartupError(
      `The database is empty, but ${config.keysDir} has acknowledged log entries: this is not the database those keys belong to.`,
    )
  const isAnotherLog = found === undefined && readKeys(config.keysDir) !== undefined
  const { keys, row, ...state } = await startLog(db, config, found, clock.nowMs)
  const host = parseOrigin(row.origin)?.host
  if (host !== config.logOrigin)
    throw new StartupError(`This log was born as ${host}; --log-origin ${config.logOrigin} cannot continue it.`)
  await heads.start(db)
  await db.read(async session => clock.trouble(session, await readHead(session)))
  const { origin } = row
  return { keys, origin, genesisAt: Math.floor(row.genesis_at / 1000), genesis: genesisOf(row), ...state, isAnotherLog }
}

/** Most attempts of a start to read keys and log together, should the keys be changed in between. */
const MAX_ATTEMPTS = 3

/** The log's state with the keys in force, ready to sign. @throws StartupError */
async function startLog(
  db: Database,
  config: Config,
  found: DeploymentRow | undefined,
  nowMs: () => number,
): Promise<LogState & { readonly keys: SigningKeys }> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const stored =
      found === undefined
        ? (readKeys(config.keysDir) ?? createKeys(config.keysDir, await fetchRemoteKey(config.signer)))
        : keysInForce(config.keysDir, await readIdsInForce(db, found))
    const keys = withSigner(stored, config.signer)
    const state = await db.transaction(tx => readOrCreateLog(tx, keys, config, nowMs()))
    if (state !== undefined) return { ...state, keys }
  }
  throw otherKeys(config.keysDir)
}

/** The public half of the signer's service key; undefined without a signer. @throws StartupError */
export async function fetchRemoteKey(signer: RemoteSigner | undefined): Promise<Uint8Array | undefined> {
  try {
    return signer && (await fetchPublicKey(signer))
  } catch (cause) {
    if (cause instanceof SignerFailure) throw new StartupError(`The signer cannot be used. ${cause.message}`, { cause })
    throw cause
  }
}

/** The keys, with the signer as the service key where it is remote. @throws StartupError when the options say otherwise */
function withSigner(keys: SigningKeys, signer: RemoteSigner | undefined): SigningKeys {
  const isRemote = keys.service.isElsewhere
  if (isRemote && signer === undefined)
    throw new StartupError("The service key is at a signer: --signer-url must give its address.")
  if (!isRemote && signer !== undefined)
    throw new StartupError(
      "--signer-url was given, but the service key is in the keys folder: change it with keys rotate service --signer.",
    )
  return signer === undefined ? keys : { ...keys, service: remoteKey(signer, keys.service) }
}

/** The ids of the keys in force; in a database of a release without key changes, those of the first start. */
async function readIdsInForce(source: Source, row: DeploymentRow): Promise<KeyIds> {
  const rows = await readSigningKeys(source)
  return rows.length === 0 ? firstIds(row) : idsInForce(rows)
}

const firstIds = (row: DeploymentRow): KeyIds => ({
  service: row.service_key_id,
  log: row.log_key_id,
  checkpoint: row.checkpoint_key_id,
})

function keysInForce(directory: string, ids: KeyIds): SigningKeys {
  const keys = findSigningKeys(directory, ids)
  if (keys === "none")
    throw new StartupError(
      `The database is signed with keys that are not in ${directory}; restore them, a new key cannot continue this log.`,
    )
  if (keys === "others") throw otherKeys(directory)
  return keys
}

const otherKeys = (directory: string): StartupError =>
  new StartupError(
    `The signing keys in ${directory} are not those that are in force on this database; restore the right ones.`,
  )

type LogState = Pick<Deployment, "signingKeys" | "keyChanges" | "epoch"> & { readonly row: DeploymentRow }

/**
 * Reads the deployment from the database; on a first start writes it, with the genesis entry. Undefined when other keys are in
 * force.
 */
async function readOrCreateLog(tx: Tx, keys: SigningKeys, config: Config, now: number): Promise<LogState | undefined> {
  const head = await lockHead(tx)
  const tree_id = `${randomInt(1, MAX_TREE_ID)}`
  const facts: DeploymentRow = {
    origin: `${config.logOrigin} - ${tree_id}`,
    tree_id,
    service_key_id: keys.service.keyId,
    log_key_id: keys.log.keyId,
    checkpoint_key_id: keys.checkpoint.keyId,
    genesis_at: now,
    record_format: RECORD_FORMAT,
  }
  const row = await pinDeployment(tx, facts)
  if (!sameIds(await readIdsInForce(tx, row), idsOf(keys))) return undefined
  const signingKeys = await pinSigningKeys(tx, keys, row)
  const state = { row, signingKeys, keyChanges: await readPublishedChanges(tx), epoch: head.epoch }
  if (head.size > 0) return state
  const log_time = Math.floor(row.genesis_at / 1000)
  await appendAlone(tx, { keys, origin: row.origin }, genesisOf(row), { ...head, log_time }, keys)
  return state
}

/**
 * Appends a leaf by itself to the log whose head this transaction has locked.
 * @param head the current head, with the time (Unix seconds) and the epoch of the new one
 * @param next keys whose checkpoint key signs the new head's public checkpoint
 * @returns the new head
 */
export async function appendAlone(
  tx: Tx,
  log: LogIdentity,
  leaf: GenesisLeaf | KeyChangeLeaf,
  head: LogHeadRow,
  next: SigningKeys,
): Promise<LogHeadRow> {
  const builder = growLog(await loadFrontier(tx, head))
  const { body, index } = await signAndAppend(log, builder, leaf)
  const [size, root] = [builder.size(), builder.root()]
  const moved = { ...head, size, root, checkpoint: publicCheckpoint(next, log.origin, size, root) }
  const entries = [{ log_index: index, body, integrated_time: head.log_time }]
  await appendEntries(tx, { entries, tiles: builder.tiles(), head: moved })
  return moved
}

/** The rows of all keys; written when there are none: on a first start, or on a database of a release without such rows. */
async function pinSigningKeys(tx: Tx, keys: SigningKeys, row: DeploymentRow): Promise<readonly SigningKeyRow[]> {
  const known = await readSigningKeys(tx)
  if (known.length > 0) return known
  const born = { valid_from: Math.floor(row.genesis_at / 1000), valid_to: 0, revoked_from: 0 }
  const rows = KEY_ROLES.map(role => ({ key_id: keys[role].keyId, role, spki: keys[role].spki, ...born }))
  await insertSigningKeys(tx, rows)
  return rows
}

/** The leaves of the entries that changed the keys, oldest first. @throws StoreError "corrupt" */
async function readPublishedChanges(source: Source): Promise<KeyChangesAnswer["changes"]> {
  const rows = await readKeyChanges(source)
  const changes = rows.map(({ log_index, leaf }) => ({ log_index, leaf: parseStrictJson(leaf) }))
  const read = readKeyChangesAnswer({ ok: true, changes })
  if (read === undefined) throw new StoreError("corrupt")
  return read.changes
}

/** The leaf of entry 0, as the first start made it. */
const genesisOf = ({ origin, service_key_id, log_key_id, checkpoint_key_id, genesis_at }: DeploymentRow): GenesisLeaf =>
  genesisLeaf({
    origin,
    genesis_clock: new Date(genesis_at).toISOString(),
    service_key_id,
    log_key_id,
    checkpoint_key_id,
  })
