/** The reference witness's answers, over a state file of its own. C2SP tlog-witness. */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { utf8Encode } from "@runseal/canonical"
import { signedNote } from "@runseal/log/entries/log-signing"
import { assembleProof, consistencyPath, foldRight, hashLeaf, hashNode, type NodeId } from "@runseal/log/merkle/rfc6962"
import { formatCheckpoint } from "@runseal/log/notes/checkpoint"
import { cosignatureOf } from "@runseal/log/notes/cosignature"
import { noteKey, parseNote } from "@runseal/log/notes/signed-note"
import { formatAddCheckpoint } from "@runseal/log/notes/witness-messages"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { addCheckpoint, type Reply, type Witness } from "./serve.ts"
import { openFiles, type WitnessFiles } from "./state.ts"

const ORIGIN = "runseal.local/4127"
const NOW = 1_767_225_600

/** The raw public key of an Ed25519 key. */
const rawOf = (secret: KeyObject): Uint8Array =>
  new Uint8Array(createPublicKey(secret).export({ type: "spki", format: "der" }).subarray(-32))
const logSecret = generateKeyPairSync("ed25519").privateKey
const logKey = noteKey(ORIGIN, "ed25519", rawOf(logSecret))

/** The node of a tree whose entries say which they are; from `forkedAt` on they say it otherwise. */
const nodeOf =
  (forkedAt: number) =>
  ({ level, index }: NodeId): Uint8Array =>
    level === 0
      ? hashLeaf(utf8Encode(`${index < forkedAt ? "" : "forked "}${index}`))
      : hashNode(
          nodeOf(forkedAt)({ level: level - 1, index: 2 * index }),
          nodeOf(forkedAt)({ level: level - 1, index: 2 * index + 1 }),
        )

type Shown = {
  readonly from: number
  readonly to: number
  readonly forkedAt?: number
  readonly origin?: string
  readonly by?: KeyObject
}
/** What an honest log sends, or what one with another past does. */
function request({ from, to, forkedAt = to, origin = ORIGIN, by = logSecret }: Shown): string {
  const hash = nodeOf(forkedAt)
  const root = rootOf(to, forkedAt)
  const proof = from === 0 || from >= to ? [] : assembleProof(consistencyPath(from, to), hash)
  const text = formatCheckpoint({ origin, size: to, root, extensions: [] })
  const checkpoint = signedNote(text, logKey, message => sign(null, message, by))
  return formatAddCheckpoint({ oldSize: from, proof, checkpoint })
}

function rootOf(size: number, forkedAt: number): Uint8Array {
  const hashes: Uint8Array[] = []
  for (let start = 0, left = size; left > 0; ) {
    const level = Math.floor(Math.log2(left))
    hashes.push(nodeOf(forkedAt)({ level, index: start / 2 ** level }))
    start += 2 ** level
    left -= 2 ** level
  }
  return foldRight(hashes)
}

let folder = ""
let files: WitnessFiles
let witness: Witness

const open = (): void => {
  files = openFiles(join(folder, "key"), join(folder, "state"))
  witness = {
    key: noteKey("witness.example/w1", "cosignature/v1", rawOf(files.key)),
    secret: files.key,
    logs: [{ origin: ORIGIN, keys: [logKey] }],
    state: files.state,
    now: () => NOW,
  }
}
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runseal-witness-"))
  open()
})
afterEach(() => {
  files.state.close()
  rmSync(folder, { recursive: true })
})
const ask = (shown: Shown): Reply => addCheckpoint(request(shown), witness)
const status = (shown: Shown): number => ask(shown).status

describe("a checkpoint that follows from the last one", () => {
  test("is cosigned, at the time it is", () => {
    const { status, text } = ask({ from: 0, to: 7 })
    expect(status).toBe(200)
    const [, checkpoint = ""] = /^old 0\n\n(.*)$/s.exec(request({ from: 0, to: 7 })) ?? []
    expect(cosignatureOf(parseNote(checkpoint + text)!, witness.key)?.time).toBe(NOW)
    expect(text).toMatch(/^— witness\.example\/w1 [A-Za-z0-9+/]+={0,2}\n$/)
  })

  test("is cosigned however far the log has grown, and again when it has not", () => {
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 3],
      [3, 8],
      [8, 16],
      [16, 33],
      [33, 100],
    ] as const)
      expect(status({ from, to }), `${from} to ${to}`).toBe(200)
  })
})

describe("every other request", () => {
  beforeEach(() => {
    expect(status({ from: 0, to: 7 })).toBe(200)
  })
  /** What was cosigned has not changed. */
  afterEach(() => {
    expect(files.state.read(ORIGIN)?.size).toBe(7)
  })

  test("that names another old size is told the right one", () => {
    for (const [from, to] of [
      [0, 9],
      [6, 9],
      [8, 9],
      [0, 7],
      [3, 5],
    ] as const)
      expect(ask({ from, to })).toEqual({ status: 409, type: "text/x.tlog.size", text: "7\n" })
  })

  test("of another tree of the same size is a conflict without a size", () => {
    expect(ask({ from: 7, to: 7, forkedAt: 5 })).toMatchObject({ status: 409, text: "" })
  })

  test("of a tree with another past is 422", () => {
    for (let forkedAt = 0; forkedAt < 7; forkedAt++) expect(status({ from: 7, to: 12, forkedAt })).toBe(422)
  })

  test("whose proof is not the right one is 422", () => {
    const good = request({ from: 7, to: 12 })
    const [old = "", first = "", ...others] = good.split("\n")
    for (const lines of [
      [old, ...others],
      [old, first, first, ...others],
      [old, others[0], first, ...others.slice(1)],
    ])
      expect(addCheckpoint(lines.join("\n"), witness).status).toBe(422)
    expect(addCheckpoint(request({ from: 7, to: 7 }).replace("\n\n", `\n${first}\n\n`), witness).status).toBe(422)
  })

  test("of a log that is not known is 404", () => {
    expect(status({ from: 0, to: 3, origin: "another.example/1" })).toBe(404)
  })

  test("that the log has not signed is 403", () => {
    expect(status({ from: 7, to: 9, by: generateKeyPairSync("ed25519").privateKey })).toBe(403)
    expect(addCheckpoint(request({ from: 7, to: 9 }).replace("\n9\n", "\n10\n"), witness).status).toBe(403)
  })

  test("of a tree that is smaller than the old one is 400", () => {
    expect(status({ from: 9, to: 8 })).toBe(400)
  })

  test("that is no request is 400", () => {
    for (const body of ["", "old 7\n", "old 7\n\n", "old 7\n\nno checkpoint\n", request({ from: 7, to: 9 }).slice(4)])
      expect(addCheckpoint(body, witness).status).toBe(400)
  })
})

describe("what was cosigned", () => {
  test("is remembered by the next process", () => {
    expect(status({ from: 0, to: 7 })).toBe(200)
    files.state.close()
    open()
    expect(ask({ from: 0, to: 7, forkedAt: 3 })).toMatchObject({ status: 409, text: "7\n" })
    expect(status({ from: 7, to: 9, forkedAt: 3 })).toBe(422)
    expect(status({ from: 7, to: 9 })).toBe(200)
  })

  test("is remembered of each log by itself", () => {
    const other = { ...witness, logs: [...witness.logs, { origin: "another.example/1", keys: [logKey] }] }
    expect(addCheckpoint(request({ from: 0, to: 7 }), other).status).toBe(200)
    expect(addCheckpoint(request({ from: 0, to: 3, origin: "another.example/1" }), other).status).toBe(200)
    expect(files.state.read(ORIGIN)?.size).toBe(7)
  })

  test("is in the hands of one process at a time", () => {
    expect(() => openFiles(join(folder, "key"), join(folder, "state"))).toThrow(/another witness has it/)
  })

  test("is never made anew for a key that has signed, nor a key for it", () => {
    files.state.close()
    renameSync(join(folder, "state"), join(folder, "lost"))
    expect(() => openFiles(join(folder, "key"), join(folder, "state"))).toThrow(/lost its state/)
    renameSync(join(folder, "lost"), join(folder, "state"))
    renameSync(join(folder, "key"), join(folder, "lost"))
    expect(() => openFiles(join(folder, "key"), join(folder, "state"))).toThrow(/restore it/)
    renameSync(join(folder, "lost"), join(folder, "key"))
    open()
  })
})
