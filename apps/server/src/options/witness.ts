/** A witness as the operator's options name it. It is not trusted: its answer counts once its signature is verified. */
import { equalBytes } from "@runseal/canonical"
import { ed25519Spki } from "@runseal/log/keys/spki"
import { publicOrigin } from "@runseal/log/notes/checkpoint"
import { isWitnessKey, type NoteKey, parseVkey } from "@runseal/log/notes/signed-note"
import { asFolder, operatorUrl } from "./operator-url.ts"
import { StartupError } from "./startup-error.ts"

export type Witness = {
  /** Its cosignature key; the name in it names the witness. */
  readonly key: NoteKey
  /** Its submission prefix (C2SP tlog-witness), which ends in a slash. */
  readonly url: URL
}

/** Every reader of signed notes must accept this many signatures beside the log's own. */
export const MAX_WITNESSES = 15

/** Reads `<vkey>=<address>`: https, or http on this machine alone. Undefined for anything else. */
export function parseWitness(text: string): Witness | undefined {
  const [, vkey = "", address = ""] = /^([^+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+={0,2})=([^=].*)$/.exec(text) ?? []
  const key = parseVkey(vkey)
  const url = asFolder(operatorUrl(address))
  return key === undefined || !isWitnessKey(key) || url === undefined ? undefined : { key, url }
}

/** Whether no two have the same name or key. */
export const areDistinct = (witnesses: readonly Witness[]): boolean =>
  (["name", "publicKey"] as const).every(
    part => new Set(witnesses.map(({ key }) => String(key[part]))).size === witnesses.length,
  )

/** The names and keys that the log has or had. */
type OwnLog = {
  /** `<host> - <decimal tree id>`. */
  readonly origin: string
  readonly signingKeys: readonly { readonly spki: Uint8Array }[]
}

/** @throws StartupError for a witness that is the log itself: it would cosign its own checkpoints */
export function refuseOwnLog(witnesses: readonly Witness[], { origin, signingKeys }: OwnLog): void {
  const isOwn = ({ key }: Witness): boolean =>
    key.name === publicOrigin(origin) ||
    (key.algorithm === "cosignature/v1" && signingKeys.some(({ spki }) => equalBytes(spki, ed25519Spki(key.publicKey))))
  const posing = witnesses.find(isOwn)
  if (posing !== undefined)
    throw new StartupError(`--witness: ${posing.key.name} is no witness of this log, it has the log's own key or name`)
}
