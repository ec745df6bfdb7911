/**
 * The state of the witness, in a SQLite file: each change is atomic and on disk before it is answered, and one process at a
 * time has the file open. A witness that lost its state could be made to sign two histories, so key and state are created together,
 * and neither is ever created again for the other.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { WitnessError } from "./witness-options.ts"

/** The tree of a log that was cosigned last. */
export type CosignedTree = {
  readonly size: number
  readonly root: Uint8Array
  /** The signed note that the log sent: evidence of what it signed. */
  readonly checkpoint: string
}

export type WitnessState = {
  readonly read: (origin: string) => CosignedTree | undefined
  /** On disk when it returns. */
  readonly write: (origin: string, tree: CosignedTree) => void
  readonly close: () => void
}

export type WitnessFiles = { readonly key: KeyObject; readonly state: WitnessState }

/** Opens key and state, or creates both on the first start. @throws WitnessError */
export function openFiles(keyFile: string, stateFile: string): WitnessFiles {
  const [hasKey, hasState] = [existsSync(keyFile), existsSync(stateFile)]
  if (hasKey && !hasState)
    throw new WitnessError(
      `${stateFile} does not exist. A witness that lost its state must not sign with its key again: create a new witness with a new key.`,
    )
  if (hasState && !hasKey) throw new WitnessError(`${keyFile} does not exist; restore it.`)
  const state = openState(stateFile)
  try {
    if (!hasKey) makeKey(keyFile)
    return { key: readKey(keyFile), state }
  } catch (error) {
    state.close()
    throw error
  }
}

function makeKey(path: string): void {
  const { privateKey } = generateKeyPairSync("ed25519")
  try {
    writeFileSync(path, privateKey.export({ type: "pkcs8", format: "pem" }), { flag: "wx", mode: 0o600, flush: true })
  } catch (cause) {
    throw new WitnessError(`${path} cannot be written.`, { cause })
  }
}

function readKey(path: string): KeyObject {
  try {
    const key = createPrivateKey(readFileSync(path))
    if (key.asymmetricKeyType === "ed25519") return key
  } catch (cause) {
    throw new WitnessError(`${path} holds no key that can be read.`, { cause })
  }
  throw new WitnessError(`${path} holds no Ed25519 key.`)
}

const SETTINGS = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = EXTRA;"
const TABLE = `CREATE TABLE IF NOT EXISTS cosigned
  (origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL, checkpoint TEXT NOT NULL) STRICT`

function openState(path: string): WitnessState {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path, { timeout: 0 })
    db.exec(`${SETTINGS} BEGIN EXCLUSIVE; ${TABLE}; COMMIT;`)
    return stateIn(db)
  } catch (cause) {
    db?.close()
    throw new WitnessError(`${path} cannot be used: another witness has it open, or it is not a state file.`, { cause })
  }
}

function stateIn(db: DatabaseSync): WitnessState {
  const read = db.prepare("SELECT size, root, checkpoint FROM cosigned WHERE origin = ?")
  const write = db.prepare("INSERT OR REPLACE INTO cosigned (origin, size, root, checkpoint) VALUES (?, ?, ?, ?)")
  return {
    read: origin => {
      const row = read.get(origin)
      if (row === undefined) return undefined
      const { size, root, checkpoint } = row
      if (typeof size === "number" && root instanceof Uint8Array && typeof checkpoint === "string")
        return { size, root, checkpoint }
      throw new Error("a row of the state file has another shape than its table")
    },
    write: (origin, { size, root, checkpoint }) => void write.run(origin, size, root, checkpoint),
    close: () => db.close(),
  }
}
