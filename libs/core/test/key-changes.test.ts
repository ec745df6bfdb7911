/** A log may change its keys: log and trust document show that each set of keys was announced by the one before. */
import { utf8Decode, utf8Encode } from "@runseal/canonical"
import { entryBody } from "@runseal/log/entries/log-entry"
import { describe, expect, test } from "vitest"
import { p256Key } from "../../log/test/seeded-keys.ts"
import { leafDigest, leafText } from "../src/formulas/leaves.ts"
import { genesisProblem, keyChangesProblem, type LoggedChange } from "../src/verify/key-changes.ts"
import { readKeyChangesAnswer } from "../src/wire/log-answers.ts"
import { changedLog } from "./fixtures/changed-log.ts"
import { trusted } from "./fixtures/deployment.ts"
import { asJson } from "./fixtures/json-values.ts"
import { mutations } from "./fixtures/mutations.ts"

const { genesis, birth, changes, trustDocument } = changedLog()
const trust = trusted(trustDocument)
const [first, second] = changes as readonly [LoggedChange, LoggedChange]

/** A change whose leaf somebody signs, whatever it says. */
function signedBy(label: string, change: LoggedChange): LoggedChange {
  const { sign, spki } = p256Key("runseal fixture", label, "rfc6979")
  const text = leafText(change.leaf)
  const signatureDer = sign(utf8Encode(text))
  const body = entryBody({ digestHex: leafDigest(change.leaf), signatureDer, spkiDer: spki })
  return { ...change, entry: utf8Encode(body) }
}

test("changes lead from the log's birth to the keys of the trust document", () => {
  expect(keyChangesProblem(genesis, changes, trust)).toBeUndefined()
})

test("the leaf of a change is read back as it was shown", () => {
  const answer = { ok: true, changes: changes.map(({ log_index, leaf }) => ({ log_index, leaf: asJson(leaf) })) }
  expect(readKeyChangesAnswer(answer)).toEqual(answer)
})

describe("is found", () => {
  test("a change that somebody else signed, also the key that it names itself", () => {
    for (const label of ["service key 2", "service key 3", "nobody's"])
      expect(keyChangesProblem(genesis, [signedBy(label, first), second], trust)).toMatch(
        /not signed with the service key before/,
      )
  })

  test("a change that was left out, and one that stands twice or elsewhere", () => {
    expect(keyChangesProblem(genesis, [second], trust)).toMatch(/does not follow on the keys before it/)
    expect(keyChangesProblem(genesis, [first, first], trust)).toMatch(/out of order/)
    expect(keyChangesProblem(genesis, [second, first], trust)).toBeDefined()
  })

  test("that the newest changes were hidden", () => {
    expect(keyChangesProblem(genesis, [first], trust)).toMatch(
      /lists a service key that no entry of this log announces/,
    )
    expect(keyChangesProblem(genesis, [], trust)).toMatch(/lists a service key that no entry/)
  })

  test("a key that the trust document does not list", () => {
    const service_keys = trustDocument.service_keys.slice(0, 2)
    expect(keyChangesProblem(genesis, changes, trusted({ ...trustDocument, service_keys }))).toMatch(
      /goes on with a service key that the trust document does not list/,
    )
  })

  test("the change of another log", () => {
    const stranger = changedLog("a stranger")
    expect(keyChangesProblem(genesis, stranger.changes, trust)).toBeDefined()
    expect(keyChangesProblem(stranger.genesis, stranger.changes, trust)).toBeDefined()
  })

  test("any value of a change that differs", () => {
    let count = 0
    for (const { pointer, change, document } of mutations(asJson(first.leaf), new Map())) {
      const answer = readKeyChangesAnswer({ ok: true, changes: [{ log_index: 1, leaf: document }] })
      const leaf = answer?.changes[0]?.leaf
      if (leaf !== undefined && keyChangesProblem(genesis, [{ ...first, leaf }, second], trust) === undefined)
        expect.unreachable(`${pointer} ${change}`)
      count++
    }
    expect(count).toBeGreaterThan(20)
  })

  test("any byte of an entry that differs", () => {
    for (const at of first.entry.keys()) {
      const entry = first.entry.with(at, (first.entry[at] ?? 0) ^ 1)
      if (keyChangesProblem(genesis, [{ ...first, entry }, second], trust) === undefined)
        expect.unreachable(`${at}: ${utf8Decode(entry.subarray(at, at + 1))}`)
    }
  })
})

test("once keys were changed, the trust document may have dropped the checkpoint key of the birth", () => {
  expect(genesisProblem(genesis, birth, trust)).toMatch(/names a checkpoint key that the trust document does not list/)
  expect(genesisProblem(genesis, birth, trust, true)).toBeUndefined()
})
