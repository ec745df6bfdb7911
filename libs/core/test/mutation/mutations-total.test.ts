import { encodeHex, utf8Encode } from "@runseal/canonical"
import { ed25519Spki, keyIdOfSpki } from "@runseal/log/keys/spki"
import { describe, expect, test } from "vitest"
import type { GenesisLeaf } from "../../src/artifacts/anchor.ts"
import { genesisLeaf } from "../../src/formulas/leaves.ts"
import { genesisProblem } from "../../src/verify/key-changes.ts"
import { OUTCOME_KINDS } from "../../src/vocabulary/outcomes.ts"
import { PRE_ANCHOR_LEAF_VERSIONS, RECEIPT_LEAF_VERSIONS } from "../../src/vocabulary/versions.ts"
import { readGenesisAnswer } from "../../src/wire/log-answers.ts"
import { collectPermit, requestApproval } from "../fixtures/asked-approvals.ts"
import { bothForms, makeDeployment } from "../fixtures/deployment.ts"
import type { Json } from "../fixtures/json-values.ts"
import { asJson, isItems, isMembers, step } from "../fixtures/json-values.ts"
import { type Logged, memoryLog } from "../fixtures/memory-log.ts"
import { knownValues, mutations } from "../fixtures/mutations.ts"
import { endPermits, openPermit } from "../fixtures/permits.ts"
import { sealCloses } from "../fixtures/sample-closes.ts"
import { sealCorpus } from "../fixtures/sample-corpus.ts"
import { ASKED } from "../fixtures/vectors/asked-transfer.ts"

const deployment = makeDeployment()
const { runs, receipts, attestations } = sealCorpus(deployment)
const closes = sealCloses()
const opened = openPermit(deployment)
const asked = requestApproval(deployment, ASKED)
const { leaf, body } = born()
const genesis = asJson({ ok: true, log_index: 0, leaf })
const documents = [
  ...runs.flatMap(({ name, document }) => bothForms(`bundle ${name}`, document.bundle)),
  ...receipts.map(({ name, document }) => ({ name: `receipt ${name}`, document: asJson(document) })),
  ...attestations.map(({ name, document }) => ({ name: `attestation ${name}`, document: asJson(document) })),
  ...closes.flatMap(({ name, bundle }) => bothForms(`bundle ${name}`, bundle)),
  { name: "request for an approval", document: asJson(asked.request) },
  { name: "opening that persons approved", document: asJson(collectPermit(deployment, asked).opening) },
  { name: "opening", document: asJson(opened.opening) },
  { name: "end", document: asJson(endPermits(deployment, [opened])) },
  { name: "genesis", document: genesis },
]
const known = knownValues(documents.map(({ document }) => document))

/** Entry 0 as a service makes it, which names its checkpoint key by the hash of its SPKI. */
function born(): Logged<GenesisLeaf> {
  const { genesis, checkpointKey, serviceKey, logKey, log } = deployment
  const { leaf_version: _, ...facts } = genesis.leaf
  const checkpoint_key_id = encodeHex(keyIdOfSpki(ed25519Spki(checkpointKey.raw)))
  return memoryLog(log.origin, logKey).append(genesisLeaf({ ...facts, checkpoint_key_id }), serviceKey, genesis.time)
}

/** What must at least be tried on a document: each line is `<pointer> <change>`. */
function demanded(value: Json, pointer = ""): readonly string[] {
  const becomes = [`${pointer} becomes null`, `${pointer} is wrapped in an array`]
  if (isItems(value)) {
    const items = value.flatMap((item, at) => {
      const here = step(pointer, at)
      const next = value[at + 1]
      const swapped = next !== undefined && JSON.stringify(next) !== JSON.stringify(item)
      return [
        `${here} is removed`,
        `${here} is doubled`,
        ...(swapped ? [`${here} is swapped with the next`] : []),
        ...demanded(item, here),
      ]
    })
    return [...becomes, `${step(pointer, value.length)} is added`, ...items]
  }
  if (!isMembers(value)) return becomes.filter(line => value !== null || !line.endsWith("null"))
  const strangers = ["extra", "__proto__", "toString", "constructor"]
    .filter(name => !Object.hasOwn(value, name))
    .map(name => `${step(pointer, name)} is added`)
  const members = Object.entries(value).flatMap(([key, member]) => {
    const here = step(pointer, key)
    return [`${here} is removed`, `${here} is renamed to ${key}_`, ...demanded(member, here)]
  })
  return [...becomes, ...strangers, ...members]
}

describe("the changes that are known for sealed documents are total", () => {
  test("the documents are of every outcome and every leaf version", () => {
    expect(new Set(runs.map(({ spec }) => spec.outcome))).toEqual(new Set(OUTCOME_KINDS))
    const versions = runs.map(({ document }) => document.bundle.run.leaf_version)
    for (const version of [...PRE_ANCHOR_LEAF_VERSIONS, ...RECEIPT_LEAF_VERSIONS]) expect(versions).toContain(version)
  })

  test.each(documents)(
    "in the $name every value, key and item is changed, removed, doubled and moved",
    ({ document }) => {
      const tried = new Set([...mutations(document, known)].map(({ pointer, change }) => `${pointer} ${change}`))
      expect(demanded(document).filter(line => !tried.has(line))).toEqual([])
    },
  )
})

describe("whatever is changed in a log's birth, it is another log", () => {
  const entry = utf8Encode(body)

  test("in the leaf that is shown", () => {
    expect(genesisProblem(leaf, entry, deployment.trust)).toBeUndefined()
    let count = 0
    for (const { pointer, change, document } of mutations(genesis, known)) {
      const read = readGenesisAnswer(JSON.parse(JSON.stringify(document)))
      const problem = read === undefined ? "unreadable" : genesisProblem(read.leaf, entry, deployment.trust)
      if (problem === undefined) expect.unreachable(`${pointer} ${change}`)
      count++
    }
    expect(count).toBeGreaterThan(200)
  })

  test("in any byte of the entry that signs it", () => {
    for (const at of entry.keys())
      for (const bit of [1, 0x20, 0x80]) {
        const changed = entry.with(at, (entry[at] ?? 0) ^ bit)
        if (genesisProblem(leaf, changed, deployment.trust) === undefined)
          expect.unreachable(`${at}: ${encodeHex(changed.subarray(at, at + 1))}`)
      }
  })
})
