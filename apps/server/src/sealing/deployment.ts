/**
 * A deployment's identity: keys, log origin, genesis. Fixed on the first start; a start with other values, or on a
 * database older than what was acknowledged, is refused. FORMATS §6.
 */
import { randomInt } from "node:crypto"
import { encodeHex } from "@runseal/canonical"
import type { GenesisLeaf } from "@runseal/core/artifacts/anchor"
import { genesisLeaf } from "@runseal/core/formulas/leaves"
import { parseOrigin } from "@runseal/core/transparency-log/checkpoint"
import { emptyRange } from "@runseal/core/transparency-log/compact-range"
import { rootFromTiles } from "@runseal/core/transparency-log/tiles"
import { appendLeafEntry, publicCheckpoint } from "../anchor/embedded-log.ts"
import type { RememberedHead } from "../anchor/head-file.ts"
import { createKeys, readKeys, type SigningKeys } from "../anchor/keys.ts"
import { growLog } from "../anchor/log-builder.ts"
import type { Config } from "../config.ts"
import { StartupError } from "../startup-error.ts"
import type { Database } from "../store/database.ts"
import { pinDeployment, readDeployment } from "../store/deployment.ts"
import { appendEntries, lockHead, readHead, readTile } from "../store/log-store.ts"
import type { DeploymentRow } from "../store/schema.ts"
import type { Tx } from "../store/session.ts"

/** A tree id is a positive decimal; 48 bits keep two deployments apart. */
const MAX_TREE_ID = 2 ** 48 - 1

export type Deployment = {
  readonly keys: SigningKeys
  /** `<host> - <decimal tree id>`. */
  readonly origin: string
  /** Unix seconds of the log's birth. */
  readonly genesisAt: number
  readonly genesis: GenesisLeaf
}

export async function openDeployment(
  db: Database,
  config: Config,
  remembered: RememberedHead | undefined,
  nowMs: () => number,
): Promise<Deployment> {
  const found = await readDeployment(db)
  const stored = readKeys(config.keysDir)
  if (found !== undefined && stored === undefined)
    throw new StartupError(
      `The database was born with signing keys that are not in ${config.keysDir}; restore them, a new key cannot continue this log.`,
    )
  if (found === undefined && remembered !== undefined)
    throw new StartupError(
      `The database is empty, but ${config.keysDir} has acknowledged ${remembered.size} log entries: this is not the database those keys belong to.`,
    )
  const keys = stored ?? createKeys(config.keysDir)
  const row = await db.transaction(tx => beginLog(tx, keys, config, nowMs()))
  checkIdentity(row, keys, config)
  await checkRollback(db, remembered)
  return { keys, origin: row.origin, genesisAt: Math.floor(row.genesis_at / 1000), genesis: genesisOf(row) }
}

/** The deployment's row; on a first start also the genesis entry, both in one transaction. */
async function beginLog(tx: Tx, keys: SigningKeys, config: Config, now: number): Promise<DeploymentRow> {
  const head = await lockHead(tx)
  const tree_id = `${randomInt(1, MAX_TREE_ID)}`
  const facts: DeploymentRow = {
    origin: `${config.logOrigin} - ${tree_id}`,
    tree_id,
    service_key_id: keys.service.keyId,
    log_key_id: keys.log.keyId,
    checkpoint_key_id: keys.checkpoint.keyId,
    genesis_at: now,
  }
  const row = await pinDeployment(tx, facts)
  if (head.size > 0) return row
  const { origin } = row
  const log = growLog({ range: emptyRange, edges: [] })
  const { body, index } = appendLeafEntry({ keys, origin }, log, genesisOf(row))
  const log_time = Math.floor(row.genesis_at / 1000)
  const [size, root] = [log.size(), log.root()]
  await appendEntries(tx, {
    entries: [{ log_index: index, body, integrated_time: log_time }],
    tiles: log.tiles(),
    head: { ...head, size, root, log_time, checkpoint: publicCheckpoint(keys, origin, size, root) },
  })
  return row
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

function checkIdentity(row: DeploymentRow, keys: SigningKeys, config: Config): void {
  const host = parseOrigin(row.origin)?.host
  if (host !== config.logOrigin)
    throw new StartupError(`This log was born as ${host}; --log-origin ${config.logOrigin} cannot continue it.`)
  const same =
    row.service_key_id === keys.service.keyId &&
    row.log_key_id === keys.log.keyId &&
    row.checkpoint_key_id === keys.checkpoint.keyId
  if (!same)
    throw new StartupError(
      `The signing keys in ${config.keysDir} are not those this database was born with; restore the right ones.`,
    )
}

async function checkRollback(db: Database, remembered: RememberedHead | undefined): Promise<void> {
  if (remembered === undefined) return
  const head = await readHead(db)
  if (head.size < remembered.size)
    throw new StartupError(
      `The database holds ${head.size} log entries, but ${remembered.size} were acknowledged: it is an older copy, and continuing it would fork the log.`,
    )
  const root = await rootFromTiles(remembered.size, (level, index, width) => readTile(db, level, index, width))
  if (encodeHex(root) !== remembered.root)
    throw new StartupError(
      "The database holds another log than the one that was acknowledged; continuing it would fork the log.",
    )
}
