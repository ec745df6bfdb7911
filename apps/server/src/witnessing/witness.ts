/** A witness as the operator names it. Trusted with nothing: what it answers counts once its signature is verified. */
import { type NoteKey, parseVkey } from "@runseal/core/transparency-log/signed-note"

export type Witness = {
  /** Its cosignature key; the name in it names the witness. */
  readonly key: NoteKey
  /** Its submission prefix (C2SP tlog-witness), which ends in a slash. */
  readonly url: URL
}

/** As many as every reader of signed notes must take beside the log's own signature. */
export const MAX_WITNESSES = 15

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Reads `<vkey>=<address>`: https, or http on this machine alone. Undefined for anything else. */
export function parseWitness(text: string): Witness | undefined {
  const [, vkey = "", address = ""] = /^([^+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44})=(.+)$/.exec(text) ?? []
  const key = parseVkey(vkey)
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (key?.algorithm !== "cosignature/v1" || url === undefined) return undefined
  const reachable = url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname))
  if (!reachable || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") return undefined
  if (!url.pathname.endsWith("/")) url.pathname += "/"
  return { key, url }
}
