/** The command line of the reference witness. */
import { parseArgs } from "node:util"
import { type NoteKey, noteKey, parseVkey } from "@runseal/log/notes/signed-note"

export const USAGE = `npm run witness -- --name NAME --listen HOST:PORT --key FILE --state FILE --log VKEY

  --name NAME          the witness's name: an address without its scheme, such as witness.example.com/w1
  --listen HOST:PORT   where to listen; port 0 lets the system choose
  --key FILE           its signing key, created on the first start
  --state FILE         the last cosigned tree of each log; created with the key, and never without it
  --log VKEY           the key of a log's public checkpoint, whose name is the log's origin; may be given several times`

/** A witnessed log: the first line of its checkpoints, which is also the name of its keys, and those keys, one of which must have signed. */
export type KnownLog = { readonly origin: string; readonly keys: readonly NoteKey[] }

export type WitnessOptions = {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly keyFile: string
  readonly stateFile: string
  readonly logs: readonly KnownLog[]
}

/** A problem with the command line or the files, in one sentence. */
export class WitnessError extends Error {
  override readonly name = "WitnessError"
}

/** @throws WitnessError */
export function readOptions(argv: readonly string[]): WitnessOptions {
  const given = parsed(argv)
  const text = (name: "name" | "listen" | "key" | "state"): string => {
    const value = given[name]
    if (value === undefined) throw new WitnessError(`--${name} is missing.\n\n${USAGE}`)
    return value
  }
  const [, host = "", port = ""] = /^(.+):(\d{1,5})$/.exec(text("listen")) ?? []
  if (host === "") throw new WitnessError("--listen must be a host and a port, such as 127.0.0.1:8090.")
  if (!isKeyName(text("name"))) throw new WitnessError("--name must have no spaces and no plus sign.")
  const logs = (given.log ?? []).map(logOf)
  if (logs.length === 0)
    throw new WitnessError(`--log is missing: a witness without a log has nothing to do.\n\n${USAGE}`)
  return {
    name: text("name"),
    host,
    port: Number(port),
    keyFile: text("key"),
    stateFile: text("state"),
    logs: merged(logs),
  }
}

function parsed(argv: readonly string[]) {
  const one = { type: "string" } as const
  try {
    const options = { name: one, listen: one, key: one, state: one, log: { type: "string", multiple: true } } as const
    return parseArgs({ args: [...argv], options, strict: true }).values
  } catch (cause) {
    throw new WitnessError(`The command line cannot be read.\n\n${USAGE}`, { cause })
  }
}

function logOf(text: string): NoteKey {
  const key = parseVkey(text)
  if (key?.algorithm === "ed25519") return key
  throw new WitnessError("--log must be the Ed25519 verifier key of a log's public checkpoint.")
}

/** One row per log, which may have several keys. */
function merged(keys: readonly NoteKey[]): readonly KnownLog[] {
  return [...new Set(keys.map(({ name }) => name))].map(origin => ({
    origin,
    keys: keys.filter(({ name }) => name === origin),
  }))
}

function isKeyName(name: string): boolean {
  try {
    noteKey(name, "cosignature/v1", new Uint8Array(32))
    return true
  } catch {
    return false
  }
}
