/** The options of a deployment beside others, each with a database, a log and keys of its own. docs/scale.md, "Whole deployments side by side". */
import { KEY_PREFIX_PATTERN } from "@runseal/core/wire/key-requests"
import * as v from "valibot"
import { operatorUrl } from "./operator-url.ts"
import { option, readBy, word } from "./values.ts"

/** More than a page shows well: a larger number is a mistake. */
const MAX_PEERS = 16
/** A name that is read at a glance: letters, digits, and single blanks, dots, dashes or underscores between them. */
const NAME = /^(?=.{1,32}$)[\p{L}\p{N}]+(?:[ ._-][\p{L}\p{N}]+)*$/u

/** Another deployment, whose console this one links. */
export type Peer = {
  readonly name: string
  /** Scheme, host and port: a console is at the root of its host. */
  readonly origin: string
}

function readPeer(text: string): Peer | undefined {
  const [, name = "", address = ""] = /^([^=]*)=(.*)$/.exec(text.trim()) ?? []
  const url = operatorUrl(address)
  return url === undefined || url.pathname !== "/" || !NAME.test(name) ? undefined : { name, origin: url.origin }
}

/** Reads `EU 1=https://eu1.example,US 1=https://us1.example`. Undefined for anything else, and for a name or an address given twice. */
function readPeers(text: string): readonly Peer[] | undefined {
  const parts = text.split(",")
  const peers = parts.flatMap(part => readPeer(part) ?? [])
  const areDistinct = (["name", "origin"] as const).every(
    member => new Set(peers.map(peer => peer[member])).size === parts.length,
  )
  return parts.length <= MAX_PEERS && areDistinct ? peers : undefined
}

export const SHARD_OPTIONS = {
  keyPrefix: option(
    "--key-prefix <prefix>",
    "what the secrets of new keys begin with after `rsk_`, so that a proxy [routes by it](scale.md#whole-deployments-side-by-side): with `eu1` they are `rsk_eu1_…`. Keys made before go on working",
    v.optional(word(KEY_PREFIX_PATTERN, "1 to 16 lower-case letters and digits")),
    { otherwise: "nothing more" },
  ),
  peers: option(
    "--peers <peers>",
    "names and addresses of the [other deployments](scale.md#whole-deployments-side-by-side), at most 16, with commas between, whose consoles this one links: `EU 1=https://eu1.example,US 1=https://us1.example`",
    v.optional(
      readBy(
        readPeers,
        `1 to ${MAX_PEERS} deployments, each once, as name=address with commas between; a name has 1 to 32 letters, digits and single blanks or dashes, an address is https (http on this machine only) without a path`,
      ),
    ),
    { otherwise: "none" },
  ),
} as const
