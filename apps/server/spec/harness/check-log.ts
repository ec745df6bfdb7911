/** The log, recomputed from its entries: head, public checkpoint, every tile and every entry bundle served. */
import { createHash, createPublicKey, verify } from "node:crypto"
import { expect } from "vitest"
import type { LogEntryRow } from "../../src/store/tables/log-store.ts"
import { naiveEntryBundles, naiveLeaf, naiveRoot, naiveTiles } from "./naive-log.ts"
import { listAt, textAt } from "./read-answer.ts"
import type { Tables } from "./read-tables.ts"
import type { TestService } from "./test-service.ts"

const utf8 = (text: string): Buffer => Buffer.from(text, "utf8")

export async function checkLog(service: TestService, { head, entries, tiles }: Tables): Promise<void> {
  expect(
    entries.map(entry => entry.log_index),
    "log indices are 0, 1, 2 …",
  ).toEqual(Array.from({ length: head.size }, (_, i) => i))
  checkTimes(entries, head.log_time)
  const bodies = entries.map(entry => utf8(entry.body))
  const leaves = bodies.map(naiveLeaf)
  const root = naiveRoot(leaves)
  expect(Buffer.from(head.root).toString("hex"), "the head's root is that of the entries").toBe(root.toString("hex"))
  await checkCheckpoint(service, head.size, root)
  const expected = new Map([...naiveTiles(leaves), ...naiveEntryBundles(bodies)])
  for (const [path, bytes] of expected) await checkServed(service, path, bytes)
  for (const tile of tiles) {
    const hashes = expected.get(`tile/${tile.level}/${`${tile.tile_index}`.padStart(3, "0")}`)
    expect(Buffer.from(tile.hashes).equals(hashes ?? Buffer.of()), `stored tile ${tile.level}/${tile.tile_index}`).toBe(
      true,
    )
  }
}

function checkTimes(entries: readonly LogEntryRow[], headTime: number): void {
  let last = 0
  for (const { integrated_time, log_index } of entries) {
    expect(integrated_time, `log time does not go back at entry ${log_index}`).toBeGreaterThanOrEqual(last)
    last = integrated_time
  }
  expect(headTime).toBe(last)
}

async function checkServed(service: TestService, path: string, expected: Buffer): Promise<void> {
  const response = await service.request(`/log/${path}`)
  expect(response.status, path).toBe(200)
  expect(Buffer.from(await response.arrayBuffer()).equals(expected), `${path} is what the entries make`).toBe(true)
}

/** C2SP signed-note by hand: three lines, an empty one, the signature whose key the trust document publishes, and those of known witnesses. */
async function checkCheckpoint(service: TestService, size: number, root: Buffer): Promise<void> {
  const { text } = await service.get("/log/checkpoint")
  const trust = (await service.get("/.well-known/runseal-trust.json")).body
  const origin = textAt(trust, "origin").replace(" - ", "/")
  const [note, signatureLines = "", ...more] = text.split("\n\n")
  expect(`${note}\n`).toBe(`${origin}\n${size}\n${root.toString("base64")}\n`)
  expect(more).toEqual([])
  const [own = "", ...cosigned] = signatureLines.trimEnd().split("\n")
  const [dash, name = "", signature = "", ...rest] = own.split(" ")
  expect([dash, name, rest]).toEqual(["—", origin, []])
  const witnesses = listAt((await service.get("/log/witnesses")).body, "witnesses")
  const names = witnesses.map(witness => textAt(witness, "name"))
  for (const line of cosigned) expect(names).toContain(/^— (\S+) [A-Za-z0-9+/]+={0,2}$/.exec(line)?.[1])
  const vkey = listAt(trust, "checkpoint_keys").map(String)[0] ?? ""
  const [keyName, keyId, typedKey = ""] = splitVkey(vkey)
  const typed = Buffer.from(typedKey, "base64")
  expect([keyName, typed[0], typed.length]).toEqual([origin, 1, 33])
  const named = createHash("sha256").update(`${keyName}\n`).update(typed).digest()
  expect(keyId).toBe(named.toString("hex", 0, 4))
  const signed = Buffer.from(signature, "base64")
  expect(signed.toString("hex", 0, 4)).toBe(keyId)
  const key = createPublicKey({ key: ed25519Spki(typed.subarray(1)), format: "der", type: "spki" })
  expect(verify(null, utf8(`${note}\n`), key, signed.subarray(4)), "the public checkpoint is signed").toBe(true)
}

/** Base64 may hold a plus sign: a verifier key is cut at its first two. */
function splitVkey(vkey: string): readonly string[] {
  const first = vkey.indexOf("+")
  const second = vkey.indexOf("+", first + 1)
  return [vkey.slice(0, first), vkey.slice(first + 1, second), vkey.slice(second + 1)]
}

const ed25519Spki = (raw: Uint8Array): Buffer => Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw])
