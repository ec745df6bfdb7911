/** `verifier log audit --holds`: a record dated before a tree that lacks it, as this auditor saw or witnesses cosigned it. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { canonicalize, encodeHex, utf8Encode } from "@runseal/canonical"
import { signedNote } from "@runseal/log/entries/log-signing"
import { ed25519Spki, keyIdOfSpki } from "@runseal/log/keys/spki"
import { formatCheckpoint, publicOrigin } from "@runseal/log/notes/checkpoint"
import { formatVkey, noteKey } from "@runseal/log/notes/signed-note"
import { beforeEach, describe, expect, test } from "vitest"
import { genesisLeaf } from "../../../libs/core/src/formulas/leaves.ts"
import { makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { memoryLog } from "../../../libs/core/test/fixtures/memory-log.ts"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { auditLog, type LogAudit } from "../src/log-audit.ts"
import { readDemand } from "../src/log-witnesses.ts"
import { readSeen } from "../src/seen-checkpoints.ts"
import { cosigned, filesOf, readFrom, witnessKey } from "./small-log.ts"
import { type Entry, zip } from "./zip-files.ts"

const root = testFolder("runseal-dates")
let store = ""
beforeEach(() => {
  store = mkdtempSync(join(root, "store-"))
})

const NAMES = ["one.example", "two.example", "three.example"]
type Files = ReadonlyMap<string, Uint8Array>

/** A service whose log is published as it is, and whose operator chooses every clock. */
function openOperator() {
  const deployment = makeDeployment()
  const { serviceKey, logKey, checkpointKey } = deployment
  const bodies: string[] = []
  const { append, ...rest } = memoryLog(deployment.log.origin, logKey)
  const log: typeof deployment.log = {
    ...rest,
    append: (leaf, key, time) => {
      const logged = append(leaf, key, time)
      bodies.push(logged.body)
      return logged
    },
  }
  const service = { ...deployment, log }
  const birth = genesisLeaf({
    origin: log.origin,
    genesis_clock: "2026-01-01T00:00:00.000Z",
    service_key_id: serviceKey.keyId,
    log_key_id: logKey.keyId,
    checkpoint_key_id: encodeHex(keyIdOfSpki(ed25519Spki(checkpointKey.raw))),
  })
  log.append(birth, serviceKey, 1_767_225_600)
  return {
    trust: deployment.trust,
    /** Seals a run at a time of this day, given as hh:mm:ss, and gives the file of its bundle. */
    seal: (time: string, logged_after_s = 1): string => {
      const at = `2026-01-15T${time}.000Z`
      const path = join(store, `record-${bodies.length}.json`)
      writeFileSync(path, canonicalize(sealRun(service, { outcome: "ok", at, logged_after_s }).bundle))
      return path
    },
    publish: (): Files => {
      const { files, root: hash } = filesOf(bodies.map(body => utf8Encode(body)))
      const { raw, sign } = checkpointKey
      const text = formatCheckpoint({ origin: log.origin, size: bodies.length, root: hash, extensions: [] })
      const key = noteKey(publicOrigin(log.origin), "ed25519", raw)
      return new Map([
        ...files,
        ["checkpoint", utf8Encode(signedNote(text.replace(log.origin, publicOrigin(log.origin)), key, sign))],
        ["genesis", utf8Encode(JSON.stringify({ ok: true, log_index: 0, leaf: birth }))],
        ["key-changes", utf8Encode(JSON.stringify({ ok: true, changes: [] }))],
      ])
    },
  }
}

type Operator = ReturnType<typeof openOperator>
type Asked = {
  readonly documents?: readonly string[]
  readonly copy?: true
  readonly witness?: readonly string[]
  readonly needed?: string
  readonly quick?: true
}

function audit({ trust }: Operator, files: Files, at: string, asked: Asked = {}): Promise<LogAudit> {
  const { documents = [], witness = [], needed, quick = false, copy } = asked
  const witnesses = readDemand(
    witness.map(name => formatVkey(witnessKey(name))),
    needed,
  )
  return auditLog({
    source: {
      name: "the log",
      ...(copy === undefined ? { live: true as const } : {}),
      read: readFrom(files),
    },
    trusts: [trust],
    folder: store,
    quick,
    ...(witnesses === undefined ? {} : { witnesses }),
    documents,
    now: `2026-01-15T${at}.000Z`,
    progress: () => undefined,
  })
}
const failureOf = ({ failure }: LogAudit): string | undefined => failure && `${failure.check}: ${failure.message}`

/** Seen at one o'clock with the three entries that were sealed before. */
async function seenAtOne(asked: Asked = {}): Promise<Operator> {
  const operator = openOperator()
  operator.seal("12:00:00")
  expect(failureOf(await audit(operator, operator.publish(), "13:00:00", asked))).toBeUndefined()
  return operator
}

describe("a record dated before the log was seen without it", () => {
  test("fails, with both times", async () => {
    const operator = await seenAtOne()
    const late = operator.seal("12:10:00")
    const found = await audit(operator, operator.publish(), "14:00:00", { documents: [late] })
    expect(failureOf(found)).toBe(
      `documents: Entry 3 of ${late} is dated 2026-01-15T12:10:01.000Z by the log's time, and was not in the log at 2026-01-15T13:00:00.000Z, when you saw it with 3 entries.`,
    )
    expect(found.failure?.contradicts?.head.size).toBe(3)
    const quick = await audit(operator, operator.publish(), "14:00:00", { documents: [late], quick: true })
    expect(failureOf(quick)).toBe(failureOf(found))
  })

  test("fails also when the log's time is right and its own clock is not", async () => {
    const operator = await seenAtOne()
    const late = operator.seal("12:54:00", 590)
    expect(failureOf(await audit(operator, operator.publish(), "14:00:00", { documents: [late] }))).toContain(
      "is dated 2026-01-15T12:54:00.000Z by its own clock",
    )
  })

  test("passes within the tolerance for clocks, and when it was sealed later", async () => {
    const operator = await seenAtOne()
    const documents = [operator.seal("12:55:30"), operator.seal("13:30:00")]
    expect(failureOf(await audit(operator, operator.publish(), "14:00:00", { documents }))).toBeUndefined()
  })

  test("counts from the last time at which an unchanged log was seen", async () => {
    const operator = await seenAtOne()
    await audit(operator, operator.publish(), "13:45:00")
    const late = operator.seal("13:30:00")
    expect(failureOf(await audit(operator, operator.publish(), "14:00:00", { documents: [late] }))).toContain(
      "was not in the log at 2026-01-15T13:45:00.000Z",
    )
    expect(readSeen(store, publicOrigin("runseal.local - 4127")).filter(({ head }) => head.size === 3)).toHaveLength(2)
  })

  test("passes when the log was seen with its entry before, and then for a time with less", async () => {
    const operator = openOperator()
    const before = operator.publish()
    const documents = [operator.seal("12:00:00")]
    for (const at of ["12:30:00", "13:00:00"])
      expect(failureOf(await audit(operator, at === "13:00:00" ? before : operator.publish(), at))?.slice(0, 7)).toBe(
        at === "13:00:00" ? "history" : undefined,
      )
    expect(failureOf(await audit(operator, operator.publish(), "14:00:00", { documents }))).toBeUndefined()
  })

  test("passes when what was seen was a copy, which may have been old", async () => {
    const operator = await seenAtOne({ copy: true })
    const late = operator.seal("12:10:00")
    expect(failureOf(await audit(operator, operator.publish(), "14:00:00", { documents: [late] }))).toBeUndefined()
  })
})

describe("a record dated before witnesses cosigned a tree without it", () => {
  const times = [Date.parse("2026-01-15T12:30:00Z") / 1000, Date.parse("2026-01-15T13:04:00Z") / 1000] as const
  /** A copy, cosigned by one witness at 12:30, and by another who is ahead at 13:04. */
  async function cosignedBefore(witness: readonly string[], needed: string): Promise<Operator> {
    const operator = openOperator()
    operator.seal("12:00:00")
    const files = new Map(operator.publish())
    const once = cosigned(files.get("checkpoint"), NAMES.slice(0, 1), times[0])
    files.set("checkpoint", cosigned(once, NAMES.slice(1, 2), times[1]))
    expect(failureOf(await audit(operator, files, "13:00:00", { copy: true, witness, needed }))).toBeUndefined()
    return operator
  }

  test("fails, with both times, also without asking for witnesses again", async () => {
    const operator = await cosignedBefore(NAMES.slice(0, 1), "1")
    const late = operator.seal("12:20:00")
    expect(failureOf(await audit(operator, operator.publish(), "14:00:00", { documents: [late], copy: true }))).toBe(
      `documents: Entry 3 of ${late} is dated 2026-01-15T12:20:00.000Z by its own clock, and was not in the log at 2026-01-15T12:30:00.000Z, when witnesses cosigned it with 3 entries.`.replace(
        "12:20:00.000Z by its own clock",
        "12:20:01.000Z by the log's time",
      ),
    )
  })

  test("counts from when as many as are needed had cosigned: one who is ahead moves nothing", async () => {
    const operator = await cosignedBefore(NAMES.slice(0, 2), "2")
    const documents = [operator.seal("12:40:00")]
    expect(failureOf(await audit(operator, operator.publish(), "14:00:00", { documents, copy: true }))).toBeUndefined()
  })
})

test("a record of a ZIP is held to the log, and not where the report beside it does not verify", async () => {
  const operator = openOperator()
  const record: Entry = { name: "bundle.json", data: readFileSync(operator.seal("12:00:00")) }
  const files = operator.publish()
  const held = async (...entries: readonly Entry[]): Promise<string | undefined> => {
    const path = join(store, "auditor.zip")
    writeFileSync(path, zip(entries))
    return failureOf(await audit(operator, files, "13:00:00", { documents: [path] }))
  }
  expect(await held(record)).toBeUndefined()
  expect(await held(record, { name: "report.pdf", data: "%PDF-1.7 nothing" })).toMatch(
    /^documents: .*auditor\.zip does not verify as a record of this log's service/,
  )
})
