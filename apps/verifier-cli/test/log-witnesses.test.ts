/** `verifier log audit --witness`: enough of the witnesses that the user named have cosigned a beginning of this log. */
import { mkdtempSync } from "node:fs"
import { join } from "node:path"
import { formatVkey, noteKey, parseVkey } from "@runseal/log/notes/signed-note"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { beforeEach, describe, expect, test } from "vitest"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { InputError } from "../src/exit-answer.ts"
import { auditLog, type LogAudit } from "../src/log-audit.ts"
import { readDemand } from "../src/log-witnesses.ts"
import { readSeen } from "../src/seen-checkpoints.ts"
import { cosigned, readFrom, type SmallLog, smallLog, witnessedAt, witnessKey } from "./small-log.ts"

const root = testFolder("runseal-witnesses")
let store = ""
beforeEach(() => {
  store = mkdtempSync(join(root, "store-"))
})

const ORIGIN = "runseal.local/4127"
const NOW = "2026-02-01T00:00:00.000Z"
const NAMES = ["one.example", "two.example", "three.example"]
const VKEYS = NAMES.map(name => formatVkey(witnessKey(name)))
const log = smallLog({ size: 300 })
/** The key of one witness under a name of choice. */
const renamed = (name: string, of = "one.example"): string =>
  formatVkey(noteKey(name, "cosignature/v1", witnessKey(of).publicKey))
const OWN = parseVkey(log.trustDocument.checkpoint_keys[0] ?? "")
if (OWN === undefined) throw new Error("a log publishes its key")
const OWN_AS_WITNESS = formatVkey(noteKey("other.example", "cosignature/v1", OWN.publicKey))
const at298 = (names: readonly string[]): SmallLog => witnessedAt(log, 298, names)

function trustOf(keys: readonly string[] = []): TrustedKeys {
  const document = { ...log.trustDocument, checkpoint_keys: [...log.trustDocument.checkpoint_keys, ...keys] }
  const trust = parseTrust(document)
  if ("problem" in trust) throw new Error(trust.problem)
  return trust
}

type Given = {
  readonly witness?: readonly string[]
  readonly needed?: string
  readonly quick?: boolean
  readonly trust?: TrustedKeys
}

function audit(
  { files }: SmallLog,
  { witness = VKEYS, needed, quick = false, trust = trustOf() }: Given = {},
): Promise<LogAudit> {
  const witnesses = readDemand(witness, needed)
  return auditLog({
    source: {
      name: "the log",
      read: readFrom(files),
    },
    trusts: [trust],
    folder: store,
    quick,
    ...(witnesses === undefined ? {} : { witnesses }),
    documents: [],
    now: NOW,
    progress: () => undefined,
  })
}
const failed = ({ failure }: LogAudit): string => `${failure?.check}: ${failure?.message}`
const PASSED = "undefined: undefined"

describe("a log passes", () => {
  test("when as many as are needed cosigned a beginning of it", async () => {
    const result = await audit(at298(NAMES.slice(1)), { needed: "2" })
    expect(failed(result)).toBe(PASSED)
    expect(result.audited?.witnessed?.head.size).toBe(298)
    expect(result.audited?.witnessed?.cosignatures.map(({ witness }) => witness.name)).toEqual(NAMES.slice(1))
  })

  test("when its newest checkpoint bears the cosignatures, and it shows no other", async () => {
    const files = new Map([...log.files, ["checkpoint", cosigned(log.files.get("checkpoint"), NAMES)]])
    const result = await audit({ ...log, files })
    expect(failed(result)).toBe(PASSED)
    expect(result.audited?.witnessed?.head.size).toBe(300)
  })

  test("as far as enough of them cosigned, though more cosigned less of it", async () => {
    const newest = cosigned(log.files.get("checkpoint"), NAMES.slice(0, 2))
    const result = await audit(
      { ...log, files: new Map([...at298(NAMES).files, ["checkpoint", newest]]) },
      { needed: "2" },
    )
    expect(result.audited?.witnessed?.head.size).toBe(300)
  })

  test("with the witnesses of the trust document, when none is named", async () => {
    const trust = trustOf(VKEYS.slice(0, 2))
    expect(failed(await audit(at298(NAMES.slice(0, 1)), { witness: [], needed: "1", trust }))).toBe(PASSED)
    expect(failed(await audit(at298(NAMES.slice(2)), { witness: [], needed: "1", trust }))).toMatch(/^witnesses: 0 of/)
    expect(failed(await audit(at298(NAMES), { witness: VKEYS.slice(2), trust }))).toBe(PASSED)
  })

  test("whichever was seen first, the witnessed part or more of it, and quickly too", async () => {
    const grown = (size: number, witnessed: number): SmallLog => witnessedAt(smallLog({ size }), witnessed, NAMES)
    for (const [size, witnessed] of [
      [100, 90],
      [300, 200],
      [600, 290],
      [600, 600],
    ] as const)
      expect(failed(await audit(grown(size, witnessed), { quick: true })), `${witnessed} of ${size}`).toBe(PASSED)
  })
})

describe("a log fails", () => {
  test("when too few cosigned", async () => {
    expect(failed(await audit(at298(NAMES.slice(1))))).toBe(
      "witnesses: 2 of your 3 witnesses cosigned a checkpoint that this log shows, of the 3 needed: two.example, three.example.",
    )
    expect(failed(await audit(log, { needed: "1" }))).toBe(
      "witnesses: 0 of your 3 witnesses cosigned a checkpoint that this log shows, of the 1 needed.",
    )
  })

  test("when a witness signed another text, or not as a witness", async () => {
    const other = cosigned(log.files.get("checkpoint"), NAMES)
    const moved = new TextEncoder().encode(new TextDecoder().decode(other).replace("\n300\n", "\n299\n"))
    expect(failed(await audit({ ...log, files: new Map([...log.files, ["witnessed-checkpoint", moved]]) }))).toMatch(
      /^witnesses: 0 of/,
    )
  })

  test("when one witness signed often", async () => {
    expect(failed(await audit(at298(["one.example", "one.example", "one.example"]), { needed: "2" }))).toMatch(
      /^witnesses: 1 of your 3/,
    )
  })

  test("when what witnesses cosigned is not signed by the log", async () => {
    const stranger = smallLog({ size: 298, signedBy: "a stranger" }).files.get("checkpoint")
    const files = new Map([...log.files, ["witnessed-checkpoint", cosigned(stranger, NAMES)]])
    expect(failed(await audit({ ...log, files }))).toMatch(/^witnesses: 0 of/)
  })

  test("when a cosignature is of a time to come", async () => {
    const late = Date.parse(NOW) / 1000 + 301
    for (const [time, expected] of [
      [late - 1, PASSED],
      [late, "witnesses: "],
      [Number.MAX_SAFE_INTEGER, "witnesses: "],
    ] as const) {
      const files = new Map([...log.files, ["checkpoint", cosigned(log.files.get("checkpoint"), NAMES, time)]])
      expect(failed(await audit({ ...log, files })).slice(0, expected.length)).toBe(expected)
    }
  })

  test.each([false, true])("when what was witnessed is not its past, and says so for ever (quick: %s)", async quick => {
    await audit(log, { witness: [] })
    const fork = smallLog({ size: 298, forkedAt: 200 }).files.get("checkpoint")
    const files = new Map([...log.files, ["witnessed-checkpoint", cosigned(fork, NAMES)]])
    const result = await audit({ ...log, files }, { quick })
    expect(failed(result)).toMatch(/^history: The log was forked or its past changed: its first 298 entries/)
    expect(result.failure?.contradicts?.checkpoint).toContain("— one.example ")
    expect(failed(await audit(log, { witness: [], quick }))).toMatch(/^history: /)
  })

  test("when more was witnessed than it has now", async () => {
    expect(failed(await audit(witnessedAt(smallLog({ size: 200 }), 298, NAMES)))).toMatch(/^history: The log shrank/)
    expect(readSeen(store, ORIGIN).map(({ head }) => head.size)).toEqual([298, 200])
  })
})

test("a checkpoint key that the log had before, and that was revoked since, is no witness of it", async () => {
  const changed = smallLog({ size: 300, changedAt: 270 })
  const [first = "", ...rest] = changed.trustDocument.checkpoint_keys
  const retired = parseVkey(first)
  const trust = parseTrust({ ...changed.trustDocument, checkpoint_keys: rest })
  if (retired === undefined || "problem" in trust) throw new Error("the log has two checkpoint keys")
  const posing = formatVkey(noteKey("independent.example", "cosignature/v1", retired.publicKey))
  await expect(audit(changed, { witness: [posing], trust })).rejects.toThrow(
    "independent.example is no witness of this log: it has the log's own key or name.",
  )
})

describe("a demand that cannot be met is refused", () => {
  test.each<[string, readonly string[], string | undefined, string]>([
    ["a key that is none", ["no-key"], undefined, "no-key is not the verifier key of a witness"],
    [
      "the log's own key",
      [log.trustDocument.checkpoint_keys[0] ?? ""],
      undefined,
      "is not the verifier key of a witness",
    ],
    ["a witness twice", [VKEYS[0] ?? "", VKEYS[0] ?? ""], undefined, "A witness is named twice"],
    ["a witness under two names", [VKEYS[0] ?? "", renamed("ten.example")], "2", "A witness is named twice"],
    [
      "a witness with two keys",
      [VKEYS[0] ?? "", renamed("one.example", "two.example")],
      "2",
      "A witness is named twice",
    ],
    [
      "the log's own key under another name",
      [OWN_AS_WITNESS, ...VKEYS],
      "2",
      "other.example is no witness of this log",
    ],
    ["a witness with the log's own name", [renamed(ORIGIN)], "1", "runseal.local/4127 is no witness of this log"],
    ["no number", VKEYS, "two", "--witnesses-needed is a number of witnesses."],
    ["none of them", VKEYS, "0", "--witnesses-needed is a number of witnesses."],
    ["more than there are", VKEYS, "4", "4 witnesses cannot be demanded of 3."],
    ["witnesses that nobody named", [], "1", "No witness is known"],
  ])("%s", async (_name, witness, needed, message) => {
    const refused = async (): Promise<LogAudit> =>
      audit(at298(NAMES), { witness, ...(needed === undefined ? {} : { needed }) })
    await expect(refused()).rejects.toThrow(message)
    await expect(refused()).rejects.toThrow(InputError)
  })
})
