/** `verifier log audit`: a whole log passes, every other is refused, and what was seen once stays true. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { beforeEach, describe, expect, test } from "vitest"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { InputError, MissingInput } from "../src/exit-answer.ts"
import { type AuditRequest, auditLog, type LogAudit } from "../src/log-audit.ts"
import type { LogSource } from "../src/log-source.ts"
import { createProgress } from "../src/progress.ts"
import { CHECKPOINT_LIMITS, headOf, MAX_SEEN, readSeen, seenPath, storeSeen } from "../src/seen-checkpoints.ts"
import { type LogOptions, type SmallLog, signedHead, smallLog, witnessKey } from "./small-log.ts"

const root = testFolder("runseal-audit")
let store = ""
beforeEach(() => {
  store = mkdtempSync(join(root, "store-"))
})

const ORIGIN = "runseal.local/4127"
const logs = new Map<string, SmallLog>()
/** Logs are made once. */
function logOf(options: LogOptions): SmallLog {
  const key = JSON.stringify(options)
  const log = logs.get(key) ?? smallLog(options)
  logs.set(key, log)
  return log
}

function trustOf({ trustDocument }: SmallLog): TrustedKeys {
  const trust = parseTrust(trustDocument)
  if ("problem" in trust) throw new Error(trust.problem)
  return trust
}

type Served = { readonly source: LogSource; readonly paths: string[]; readonly most: () => number }

/** A log that counts what is asked of it. */
function serve(files: ReadonlyMap<string, Uint8Array>): Served {
  const paths: string[] = []
  let [open, most] = [0, 0]
  const read: LogSource["read"] = async (path, { maxBytes }) => {
    paths.push(path)
    most = Math.max(most, ++open)
    await new Promise<void>(resolve => setImmediate(resolve))
    open--
    const bytes = files.get(path)
    if (bytes === undefined) throw new MissingInput(`There is no ${path}.`)
    if (bytes.length > maxBytes) throw new InputError(`${path} could not be read.`)
    return bytes
  }
  return { source: { name: "the log", read }, paths, most: () => most }
}

type Given = Partial<Pick<AuditRequest, "trusts" | "quick" | "now" | "witnesses">>

const auditOf = (source: LogSource, { trusts, quick = false, now = "2026-02-01T00:00:00.000Z", ...rest }: Given = {}) =>
  auditLog({
    ...rest,
    source,
    trusts: trusts ?? [trustOf(logOf({ size: 1 }))],
    folder: store,
    quick,
    documents: [],
    now,
    progress: () => undefined,
  })
const audit = (log: SmallLog, given?: Given): Promise<LogAudit> => auditOf(serve(log.files).source, given)
const failed = ({ failure }: LogAudit): string => `${failure?.check}: ${failure?.message}`
/** Changes one bit. */
const flip =
  (at: number) =>
  (bytes: Uint8Array): void => {
    bytes[at] = (bytes[at] ?? 0) ^ 1
  }
const changed = (log: SmallLog, path: string, change: (bytes: Uint8Array) => void): SmallLog => {
  const bytes = Uint8Array.from(log.files.get(path) ?? [])
  change(bytes)
  return { ...log, files: new Map([...log.files, [path, bytes]]) }
}

describe("a log that changed its keys", () => {
  const log = logOf({ size: 300, changedAt: 270 })
  const trusts = [trustOf(log)]

  test("passes, also when the trust document has dropped the key of its birth, and goes on from there", async () => {
    const [{ checkpointKeys }] = trusts as [TrustedKeys]
    const dropped = [{ ...trustOf(log), checkpointKeys: checkpointKeys.slice(1) }]
    expect((await audit(log, { trusts: dropped })).failure).toBeUndefined()
    expect((await audit(logOf({ size: 400, changedAt: 270 }), { trusts, quick: true })).failure).toBeUndefined()
  })

  test.each([false, true])("fails when a key that it retired signs its checkpoint (quick: %s)", async quick => {
    expect((await audit(log, { trusts })).failure).toBeUndefined()
    const retired = logOf({ size: 400, changedAt: 270, signedBy: "a log" })
    expect(failed(await audit(retired, { trusts, quick }))).toBe(
      "keys: The checkpoint is not signed with the newest checkpoint key that the log announced.",
    )
  })

  test("fails when it hides a change, or shows another than the entry signs", async () => {
    const none = new TextEncoder().encode('{"ok":true,"changes":[]}')
    for (const files of [
      new Map([...log.files, ["key-changes", none]]),
      new Map([...log.files].filter(([path]) => path !== "key-changes")),
    ])
      expect(failed(await audit({ ...log, files }, { trusts }))).toMatch(/^keys: The checkpoint is not signed with/)
    const other = smallLog({ size: 300, changedAt: 269 }).files.get("key-changes") ?? none
    const moved = new Map([...log.files, ["key-changes", other]])
    expect(failed(await audit({ ...log, files: moved }, { trusts }))).toMatch(
      /^keys: Entry 269, a change of keys, is no/,
    )
  })
})

test.each(["key-changes", "witnessed-checkpoint"])(
  "a %s that cannot be read is not one that is not there",
  async path => {
    const log = logOf({ size: 300, changedAt: 270 })
    const { source } = serve(log.files)
    const broken: LogSource = {
      ...source,
      read: async (asked, limits) => {
        if (asked === path) throw new InputError(`${path} answered with status 503.`)
        return source.read(asked, limits)
      },
    }
    const witnesses = { keys: [witnessKey("one.example")] }
    await expect(auditOf(broken, { trusts: [trustOf(log)], witnesses })).rejects.toThrow("answered with status 503")
  },
)

describe("a log that is whole", () => {
  test.each([1, 2, 255, 256, 257, 511, 512, 700])("passes with %i entries", async size => {
    expect((await audit(logOf({ size }))).failure).toBeUndefined()
  })

  test("passes with tiles of three rows, few requests at one time and each file read once", async () => {
    const log = logOf({ size: 66_100 })
    const { source, paths, most } = serve(log.files)
    expect((await auditOf(source)).failure).toBeUndefined()
    expect(most()).toBeLessThanOrEqual(4)
    expect(paths.toSorted()).toEqual([...log.files.keys()].sort())
    expect(paths).toContain("tile/1/000")
    expect(paths).toContain("tile/2/000.p/1")
  })
})

describe("what was seen", () => {
  test("is stored for its owner alone, once for each tree", async () => {
    for (const size of [300, 300, 700, 700]) await audit(logOf({ size }))
    const checkpoints = readSeen(store, ORIGIN)
    expect(checkpoints.map(({ head, passed }) => [head.size, passed])).toEqual([
      [300, false],
      [300, true],
      [700, false],
      [700, true],
    ])
    expect(statSync(seenPath(store, ORIGIN)).mode & 0o777).toBe(0o600)
  })

  test.each([false, true])("may grow (quick: %s)", async quick => {
    for (const size of [1, 255, 256, 300, 600, 601, 1100, 1100])
      expect(failed(await audit(logOf({ size }), { quick })), `${size}`).toBe("undefined: undefined")
  })

  test.each([false, true])("may not shrink (quick: %s)", async quick => {
    await audit(logOf({ size: 700 }))
    const result = await audit(logOf({ size: 300 }), { quick, now: "2026-03-01T00:00:00.000Z" })
    expect(failed(result)).toBe(
      "history: The log shrank, or this is an older copy of it: it shows 300 entries, and had 700 when it was seen at 2026-02-01T00:00:00.000Z.",
    )
  })

  test.each([
    ["of the same size", 700, 400],
    ["that is longer", 900, 400],
    ["that is longer and differs in its last entry seen", 900, 699],
    ["that differs in its first entry after its birth", 900, 1],
  ])("is not what a fork shows: one %s", async (_, size, forkedAt) => {
    await audit(logOf({ size: 700 }))
    for (const quick of [false, true]) {
      const result = await audit(logOf({ size, forkedAt }), { quick })
      expect(failed(result)).toMatch(/^history: The log was forked or its past changed: its first 700 entries/)
      expect(result.failure?.contradicts?.head.size).toBe(700)
    }
  })

  test("stays true: a fork that was signed once fails the first history too", async () => {
    await audit(logOf({ size: 700 }))
    await audit(logOf({ size: 700, forkedAt: 400 }))
    for (const quick of [false, true])
      for (const size of [700, 900]) expect((await audit(logOf({ size }), { quick })).failure?.check).toBe("history")
  })

  test("stays true of a shrunk fork, also for who goes on from what passed", async () => {
    await audit(logOf({ size: 700 }))
    await audit(logOf({ size: 500, forkedAt: 400 }))
    for (const quick of [false, true])
      expect(failed(await audit(logOf({ size: 900 }), { quick }))).toMatch(/^history: .* first 500 entries/)
  })

  test("of an audit that did not finish is held against the log, and not gone on from", async () => {
    const log = logOf({ size: 700 })
    const files = new Map([...log.files].filter(([path]) => path !== "tile/0/001"))
    await expect(audit({ ...log, files })).rejects.toThrow(InputError)
    expect((await audit(logOf({ size: 900 }), { quick: true })).audited?.base).toBeUndefined()
    expect(failed(await audit(logOf({ size: 900, forkedAt: 650 })))).toMatch(/^history: /)
  })

  test("on two machines is held against the log quickly too, in whichever order it was put together", async () => {
    await audit(logOf({ size: 300 }))
    const one = readFileSync(seenPath(store, ORIGIN), "utf8")
    rmSync(seenPath(store, ORIGIN))
    await audit(logOf({ size: 700, forkedAt: 200 }))
    const other = readFileSync(seenPath(store, ORIGIN), "utf8")
    for (const lines of [
      [one, other],
      [other, one],
    ]) {
      writeFileSync(seenPath(store, ORIGIN), lines.join("\n"))
      const result = await audit(logOf({ size: 900, forkedAt: 200 }), { quick: true })
      expect(failed(result)).toMatch(/^history: The log was forked or its past changed: its first 300 entries/)
    }
  })

  test("is refused when its file is damaged", async () => {
    await audit(logOf({ size: 300 }))
    const path = seenPath(store, ORIGIN)
    for (const rest of [readFileSync(path, "utf8").slice(0, -20), "\n", ""]) {
      writeFileSync(path, rest)
      await expect(audit(logOf({ size: 300 }))).rejects.toThrow("is damaged")
    }
  })

  test("is bounded: full, it keeps its newest half and what passed", () => {
    const checkpoint = new TextDecoder().decode(logOf({ size: 2 }).files.get("checkpoint"))
    const head = headOf(checkpoint)
    if (head === undefined) throw new Error("no checkpoint")
    const seen = { seen_at: "2026-02-01T00:00:00.000Z", checkpoint, passed: true }
    storeSeen(store, ORIGIN, { ...seen, head })
    const line = readFileSync(seenPath(store, ORIGIN), "utf8")
    writeFileSync(seenPath(store, ORIGIN), line.repeat(MAX_SEEN))
    const next = { ...seen, head: { ...head, size: 3 } }
    storeSeen(store, ORIGIN, { ...next, passed: false })
    expect(readSeen(store, ORIGIN)).toHaveLength(MAX_SEEN)
    storeSeen(store, ORIGIN, next)
    expect(readSeen(store, ORIGIN)).toHaveLength(MAX_SEEN / 2 + 1)
    writeFileSync(seenPath(store, ORIGIN), line.repeat(3 * MAX_SEEN))
    storeSeen(store, ORIGIN, next)
    expect(readSeen(store, ORIGIN), "of several machines").toHaveLength(MAX_SEEN / 2 + 1)
    writeFileSync(seenPath(store, ORIGIN), line.repeat(8 * MAX_SEEN + 1))
    expect(() => readSeen(store, ORIGIN)).toThrow("is damaged")
  })
})

describe("an audit that goes on from what passed", () => {
  test("reads what is new, and of the old only what proves it", async () => {
    await audit(logOf({ size: 2000 }))
    const { source, paths } = serve(logOf({ size: 2100 }).files)
    const result = await auditOf(source, { quick: true })
    expect(result.failure).toBeUndefined()
    expect(result.audited?.base?.head.size).toBe(2000)
    expect(paths.filter(path => path.startsWith("tile/entries/"))).toEqual([
      "tile/entries/007",
      "tile/entries/008.p/52",
      "tile/entries/000",
    ])
    expect(paths).not.toContain("tile/0/001")
  })

  test("asks for few files at one time", async () => {
    await audit(logOf({ size: 66_100 }))
    const { source, most } = serve(logOf({ size: 67_000 }).files)
    expect((await auditOf(source, { quick: true })).failure).toBeUndefined()
    expect(most()).toBeLessThanOrEqual(4)
  })

  test.each([
    "tile/0/007",
    "tile/0/008.p/52",
    "tile/1/000.p/8",
    "tile/entries/007",
    "tile/entries/008.p/52",
    "checkpoint",
  ])("fails when a byte of %s is changed", async path => {
    await audit(logOf({ size: 2000 }))
    const log = logOf({ size: 2100 })
    for (const at of [0, 40, (log.files.get(path)?.length ?? 0) - 2])
      expect(await ending(changed(log, path, flip(at)), true)).not.toBe(0)
  })
})

const ending = async (log: SmallLog, quick = false): Promise<number> => {
  try {
    return (await audit(log, { quick })).failure === undefined ? 0 : 1
  } catch (error) {
    if (error instanceof InputError) return 2
    throw error
  }
}

describe("a log that is not what was signed", () => {
  const log = logOf({ size: 700 })

  test("fails with one bit of a tile changed, and says which entry", async () => {
    const result = await audit(changed(log, "tile/0/001", flip(5 * 32)))
    expect(failed(result)).toBe("entries: Entry 261 is not the one that tile/0/001 commits to.")
  })

  test("fails with one bit of a higher tile changed", async () => {
    const result = await audit(changed(log, "tile/1/000.p/2", flip(40)))
    expect(failed(result)).toBe("tiles: tile/1/000.p/2 does not follow from the tiles below it.")
  })

  test("fails with an entry changed, also in its tile and every tile above", async () => {
    const result = await audit(changed(log, "tile/entries/000", bytes => flip(bytes.length - 1)(bytes)))
    expect(failed(result)).toBe("entries: Entry 255 is not the one that tile/0/000 commits to.")
    const other = logOf({ size: 700, forkedAt: 300 }).files
    const files = new Map([...other, ["checkpoint", log.files.get("checkpoint") ?? Uint8Array.of()]])
    expect(failed(await audit({ ...log, files }))).toMatch(/^root: The entries make the root/)
  })

  test("fails when its checkpoint is signed with another key", async () => {
    expect(failed(await audit(logOf({ size: 700, signedBy: "a stranger" })))).toMatch(
      /^checkpoint: .* is not signed with a checkpoint key/,
    )
  })

  test("fails when no trust document is of its origin, or none is given", async () => {
    const other = logOf({ size: 10, treeId: "4128" })
    for (const trusts of [undefined, []])
      expect(failed(await audit(other, trusts && { trusts }))).toBe(
        "checkpoint: No trust document of yours is of the log runseal.local/4128.",
      )
    expect(readSeen(store, "runseal.local/4128")).toEqual([])
  })

  test("fails when a witness alone signed", async () => {
    const trust = trustOf(log)
    const trusts = [
      { ...trust, checkpointKeys: trust.checkpointKeys.map(key => ({ ...key, algorithm: "cosignature/v1" as const })) },
    ]
    expect((await audit(log, { trusts })).failure?.check).toBe("checkpoint")
  })

  test("fails when entry 0 is the birth of another log, or was made with other keys", async () => {
    const [own, other] = [logOf({ size: 300 }), trustOf(logOf({ size: 1, seed: "another" }))]
    for (const field of ["serviceKeys", "logKeys"] as const) {
      const result = await audit(own, { trusts: [{ ...trustOf(own), [field]: other[field] }] })
      expect(failed(result)).toMatch(
        /^genesis: Entry 0 names a (service|log) key that the trust document does not list/,
      )
    }
    const stranger = logOf({ size: 300, signedBy: "another" })
    const trusts = [{ ...trustOf(own), checkpointKeys: other.checkpointKeys }]
    expect(failed(await audit(stranger, { trusts }))).toMatch(/^genesis: Entry 0 names a checkpoint key/)
    rmSync(seenPath(store, ORIGIN))
    expect(failed(await audit(logOf({ size: 300, birthSignedBy: "another" })))).toBe(
      "genesis: Entry 0 is not signed with the service key that it names.",
    )
    rmSync(seenPath(store, ORIGIN))
    const files = new Map([...own.files, ["genesis", logOf({ size: 1, seed: "another" }).files.get("genesis")!]])
    expect(failed(await audit({ ...own, files }))).toBe(
      "genesis: Entry 0 does not sign the leaf that is shown with it.",
    )
  })

  test("is not audited when it is of a hostile size", async () => {
    const big = claiming(9_007_199_254_740_991)
    await expect(audit(big)).rejects.toThrow("A log of more than 1000000000 entries is not audited.")
    expect(failed(await audit(claiming(0)))).toBe("checkpoint: The log is empty: it has no genesis entry.")
    await expect(audit(claiming(999_999_999))).rejects.toThrow(InputError)
  })

  test("is refused with a checkpoint beyond every limit, or none", async () => {
    const long = new Map([...log.files, ["checkpoint", new Uint8Array(CHECKPOINT_LIMITS.maxBytes + 1)]])
    await expect(audit({ ...log, files: long })).rejects.toThrow(InputError)
    await expect(audit({ ...log, files: new Map() })).rejects.toThrow(InputError)
    await expect(audit(changed(log, "checkpoint", bytes => void bytes.fill(10)))).rejects.toThrow(
      "its checkpoint is no signed note of a tree head",
    )
  })
})

describe("progress", () => {
  test("is one line on a terminal once a second has passed, and nothing elsewhere", () => {
    for (const isTTY of [true, false]) {
      let written = ""
      let clock = 0
      const { show, end } = createProgress({ isTTY, write: text => (written += text) }, "entries", () => clock)
      for (const [now, done] of [
        [999, 100],
        [1000, 256],
        [1500, 300],
        [2100, 700],
      ] as const) {
        clock = now
        show(done, 700)
      }
      end()
      // Again: the line is left already.
      end()
      expect(written).toBe(isTTY ? "\r256 of 700 entries\r700 of 700 entries\n" : "")
    }
  })

  test("of a command that takes less than a second is nothing", () => {
    let written = ""
    const { show, end } = createProgress({ isTTY: true, write: text => (written += text) }, "documents", () => 0)
    show(3)
    end()
    expect(written).toBe("")
  })
})

describe("mutations of every file of a small log", () => {
  const log = logOf({ size: 260 })

  test("whichever byte is changed, cut or added, no audit passes", async () => {
    const survivors: string[] = []
    for (const [path, bytes] of log.files) {
      const step = bytes.length > 2000 ? 61 : 1
      const mutants = [
        ...Array.from({ length: Math.ceil(bytes.length / step) }, (_, at) =>
          Uint8Array.from(bytes, (byte, i) => (i === at * step ? byte ^ (1 << (at % 8)) : byte)),
        ),
        bytes.subarray(0, -1),
        bytes.subarray(1),
        Uint8Array.of(),
        Uint8Array.from([...bytes, 0]),
      ]
      for (const [number, mutant] of mutants.entries())
        if ((await ending({ ...log, files: new Map([...log.files, [path, mutant]]) })) === 0)
          survivors.push(`${path} mutant ${number}`)
      const files = new Map([...log.files].filter(([other]) => other !== path))
      // A log that never changed its keys need not say so.
      expect(await ending({ ...log, files }), `without ${path}`).toBe(path === "key-changes" ? 0 : 2)
      rmSync(seenPath(store, ORIGIN), { force: true })
    }
    expect(survivors).toEqual([])
  })
})

/** The trusted log's signature on a head of that size. */
const claiming = (size: number): SmallLog => {
  const log = logOf({ size: 300 })
  return {
    ...log,
    files: new Map([...log.files, ["checkpoint", signedHead("a log", ORIGIN, size, new Uint8Array(32))]]),
  }
}
