/**
 * Audits the log in the visitor's browser: its checkpoint is signed with a key of the trust document, its hashes give the root that is
 * signed, and it still begins with what this browser saw before.
 */
import { decodeHex, encodeHex, equalBytes } from "@runseal/canonical"
import { MAX_TRUST_BYTES } from "@runseal/core/presentation/trust-rows"
import { appendLeaf, emptyRange, rootOf } from "@runseal/log/merkle/compact-range"
import { HASH_BYTES } from "@runseal/log/merkle/rfc6962"
import { TILE_WIDTH, tilePath, tileWidth } from "@runseal/log/merkle/tiles"
import { type Checkpoint, parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { verifyNote } from "@runseal/log/notes/verified-note"
import { byId, element, fill } from "@runseal/verify-page/page/elements"
import { readTrust } from "@runseal/verify-page/page/page-trust"
import { readAddress } from "@runseal/verify-page/page/read-bounded"

/** Entries that are audited here: 32 MB of hashes. A longer log is audited by the command line. */
const MAX_ENTRIES = 1_000_000
const MAX_CHECKPOINT_BYTES = 65_536

/** A checkpoint that this browser saw, stored by it: a public value. */
type Seen = { readonly size: number; readonly root: string }

async function bytesAt(address: string, maxBytes: number): Promise<Uint8Array> {
  const bytes = await readAddress(address, maxBytes)
  if ("problem" in bytes) throw new Error(`${address}: ${bytes.problem}`)
  return bytes
}

/** The checkpoint of now, and the names of those who signed it. */
async function signedCheckpoint(): Promise<{ readonly checkpoint: Checkpoint; readonly signers: readonly string[] }> {
  const keys = readTrust(await bytesAt("/.well-known/runseal-trust.json", MAX_TRUST_BYTES))
  if ("problem" in keys) throw new Error(keys.problem)
  const note = new TextDecoder().decode(await bytesAt("/log/checkpoint", MAX_CHECKPOINT_BYTES))
  const verified = verifyNote(note, keys.checkpointKeys)
  const checkpoint = verified && parseCheckpoint(verified.text)
  if (verified === undefined || checkpoint === undefined)
    throw new Error("The checkpoint is not signed with a key of the trust document.")
  return { checkpoint, signers: verified.signers.map(({ key }) => key.name) }
}

function lastSeen(origin: string): Seen | undefined {
  const [size = "", root = ""] = (localStorage.getItem(`runseal-checkpoint:${origin}`) ?? "").split(" ")
  return /^\d{1,15}$/.test(size) && decodeHex(root)?.length === HASH_BYTES ? { size: Number(size), root } : undefined
}

/** @throws Error with the sentence of what is wrong */
async function audit(say: (sentence: string) => void): Promise<readonly string[]> {
  const { checkpoint, signers } = await signedCheckpoint()
  const { origin, size, root } = checkpoint
  if (size > MAX_ENTRIES)
    throw new Error(`The log has ${size} entries, more than a browser should fetch: use verifier log audit.`)
  const seen = lastSeen(origin)
  if (seen !== undefined && seen.size > size)
    throw new Error(`This browser saw ${seen.size} entries before, and now there are ${size}.`)
  let range = emptyRange
  for (let index = 0; index * TILE_WIDTH < size; index++) {
    const width = tileWidth(0, index, size)
    const tile = await bytesAt(`/log/${tilePath({ level: 0, index, width })}`, TILE_WIDTH * HASH_BYTES)
    if (tile.length !== width * HASH_BYTES) throw new Error(`Tile ${index} of the log is not whole.`)
    for (let at = 0; at < tile.length; at += HASH_BYTES) {
      range = appendLeaf(range, tile.slice(at, at + HASH_BYTES)).range
      if (range.size === seen?.size && encodeHex(rootOf(range)) !== seen.root)
        throw new Error("The log was changed since this browser saw it.")
    }
    say(`${range.size} of ${size} entries …`)
  }
  if (!equalBytes(rootOf(range), root)) throw new Error("The hashes of the log do not give the root that it signed.")
  localStorage.setItem(`runseal-checkpoint:${origin}`, `${size} ${encodeHex(root)}`)
  return [
    `The checkpoint of ${size} entries is signed by ${signers.join(", ")}.`,
    `All ${size} hashes give the root that is signed.`,
    seen === undefined
      ? "This browser sees the log for the first time, and remembers it."
      : `It still begins with the ${seen.size} entries that this browser saw before.`,
  ]
}

const place = byId("audit")
const button = place.querySelector("button")
const status = place.querySelector<HTMLElement>('[role="status"]')

button?.addEventListener("click", () => {
  if (status === null) return
  button.disabled = true
  const say = (sentence: string): void => fill(status, sentence)
  say("Reading the checkpoint …")
  audit(say)
    .then(found =>
      fill(
        status,
        element("strong", "good-text", "✓ The log is as it was signed."),
        element("ul", "", ...found.map(text => element("li", "", text))),
      ),
    )
    .catch((error: unknown) =>
      fill(
        status,
        element("strong", "bad-text", "✗ The audit failed."),
        element("span", "", ` ${error instanceof Error ? error.message : "The browser could not do it."}`),
      ),
    )
    .finally(() => {
      button.disabled = false
    })
})
