import { createHash, createPublicKey, verify } from "node:crypto"
import canonicalize from "canonicalize"
import { describe, expect, test } from "vitest"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import { asSealed, makeDeployment } from "./fixtures/deployment.ts"
import type { Json, JsonMembers } from "./fixtures/json-values.ts"
import { asJson, isItems, isMembers, itemsOf, membersOf, valueAt, withoutMember } from "./fixtures/json-values.ts"
import { endPermits, openPermit } from "./fixtures/permits.ts"
import { sealCloses } from "./fixtures/sample-closes.ts"
import { sealCorpus } from "./fixtures/sample-corpus.ts"

// Written from docs/formats.md, RFC 8785 and RFC 6962 without a line of the library: another canonicaliser, Node's SHA-256 and
// ECDSA, and a Merkle tree that follows the text of the RFC.

const jcs = (value: Json): string => canonicalize(value) ?? ""
const sha256 = (data: string | Buffer): Buffer => createHash("sha256").update(data).digest()
const digest = (value: Json): string => sha256(jcs(value)).toString("hex")
const base64 = (text: Json | undefined): Buffer => Buffer.from(`${text}`, "base64")

/** RFC 6962 §2.1: the root that a leaf and its audit path lead to in a tree of `size` leaves. */
function rootOf(leaf: Buffer, index: number, size: number, path: readonly Buffer[]): Buffer {
  if (size === 1) return leaf
  const split = largestPowerBelow(size)
  const [inner, sibling] = [path.slice(0, -1), path.at(-1)!]
  return index < split
    ? sha256(Buffer.concat([Buffer.of(1), rootOf(leaf, index, split, inner), sibling]))
    : sha256(Buffer.concat([Buffer.of(1), sibling, rootOf(leaf, index - split, size - split, inner)]))
}
const largestPowerBelow = (size: number): number => (size === 2 ? 1 : 2 * largestPowerBelow(Math.ceil(size / 2)))

/** Every object in a document that carries its own hash. */
function sealedObjects(value: Json): readonly JsonMembers[] {
  if (isItems(value)) return value.flatMap(sealedObjects)
  if (!isMembers(value)) return []
  const marked = typeof value.hash === "string" && (typeof value.kind === "string" || typeof value.version === "string")
  return [...(marked ? [value] : []), ...Object.values(value).flatMap(sealedObjects)]
}

/** Every leaf in a document with its entry. */
function anchorsOf(value: Json): readonly JsonMembers[] {
  if (!isMembers(value)) return []
  const here = isMembers(value.leaf ?? null) && isMembers(value.entry ?? null) ? [value] : []
  return [...here, ...Object.values(value).flatMap(anchorsOf)]
}

const deployment = makeDeployment()
const corpus = sealCorpus(deployment)
/** In full, and as they are served. */
const bothOf = (name: string, bundle: Bundle) => ({
  name,
  document: membersOf(asJson(bundle)),
  sealed: membersOf(asSealed(bundle)),
})
const chain = corpus.runs.map(({ name, document: { bundle } }) => bothOf(name, bundle))
const closes = sealCloses()
const bundles = [...chain, ...closes.map(({ name, bundle }) => bothOf(name, bundle))]
const openings = closes.map(({ name, opening }) => ({
  name: `opening of ${name}`,
  document: membersOf(asJson(opening)),
}))
const ended = endPermits(deployment, [openPermit(deployment), openPermit(deployment)])
const ends = [{ name: "end", document: membersOf(asJson(ended)) }]
const [receipts, attestations] = [corpus.receipts, corpus.attestations].map(answers =>
  answers.map(({ name, document }) => ({ name: `${name} (answer)`, document: membersOf(asJson(document)) })),
)
const logKey = createPublicKey({ key: Buffer.from(deployment.logKey.spki), format: "der", type: "spki" })

test.each([...bundles, ...openings, ...receipts!])("every sealed object of $name has its hash", ({ document }) => {
  const sealed = sealedObjects(document)
  for (const object of sealed) expect(digest(withoutMember(object, "hash"))).toBe(object.hash)
  expect(sealed).not.toEqual([])
})

describe.each([...bundles, ...openings, ...ends, ...receipts!, ...attestations!])(
  "$name, computed a second time",
  ({ document }) => {
    test("every leaf is what its entry's body commits to and the service signed", () => {
      for (const { leaf = null, entry = null } of anchorsOf(document)) {
        const bodyText = base64(valueAt(entry, "/canonicalizedBody")).toString()
        const body: Json = JSON.parse(bodyText)
        expect(jcs(body)).toBe(bodyText)
        expect(valueAt(body, "/spec/data/hash/value")).toBe(digest(leaf))
        const pem = base64(valueAt(body, "/spec/signature/publicKey/content")).toString()
        expect(verify("sha256", Buffer.from(jcs(leaf)), pem, base64(valueAt(body, "/spec/signature/content")))).toBe(
          true,
        )
      }
    })

    test("every entry is in the tree whose head the log signed, at the time the log promised", () => {
      for (const { entry = null } of anchorsOf(document)) {
        const body = base64(valueAt(entry, "/canonicalizedBody"))
        const proof = membersOf(valueAt(entry, "/inclusionProof"))
        const leafHash = sha256(Buffer.concat([Buffer.of(0), body]))
        const path = itemsOf(proof.hashes).map(base64)
        const root = rootOf(leafHash, Number(proof.logIndex), Number(proof.treeSize), path).toString("base64")
        expect(root).toBe(proof.rootHash)
        const [head, line] = `${valueAt(proof, "/checkpoint/envelope")}`.split("\n\n")
        expect(head?.split("\n")).toEqual([deployment.log.origin, proof.treeSize, root])
        const signature = base64(line?.trim().split(" ").at(-1)).subarray(4)
        expect(verify("sha256", Buffer.from(`${head}\n`), logKey, signature)).toBe(true)
        const promise = jcs({
          body: body.toString("base64"),
          integratedTime: Number(valueAt(entry, "/integratedTime")),
          logID: base64(valueAt(entry, "/logId/keyId")).toString("hex"),
          logIndex: Number(valueAt(entry, "/logIndex")),
        })
        const promised = base64(valueAt(entry, "/inclusionPromise/signedEntryTimestamp"))
        expect(verify("sha256", Buffer.from(promise), logKey, promised)).toBe(true)
      }
    })
  },
)

describe.each(bundles)("the bundle $name, computed a second time", ({ document, sealed }) => {
  const sections = membersOf(document.sections)
  const sectionHashes = Object.fromEntries(
    Object.entries(sections).map(([name, section]) => [name, membersOf(section).hash ?? null]),
  )

  test("has its bundle hash over everything that is sealed but the complete-record anchor", () => {
    const held = membersOf(sealed.sections)
    const anchors = withoutMember(membersOf(sealed.anchors), "complete_record")
    const hashes = Object.fromEntries(Object.keys(held).map(name => [name, sectionHashes[name] ?? null]))
    const body = { ...withoutMember(sealed, "bundle_hash"), anchors, sections: hashes }
    expect(digest(body)).toBe(document.bundle_hash)
  })

  test("names each section that it does not hold by its hash", () => {
    const manifest = membersOf(sealed.manifest)
    const derived = Object.keys(sections).filter(name => !Object.hasOwn(membersOf(sealed.sections), name))
    const named: JsonMembers =
      sealed.manifest === undefined
        ? membersOf(sealed.derived)
        : { transport: manifest.TransportHash ?? null, final_vfa: manifest.FinalVfaHash ?? null }
    for (const [name, hash] of Object.entries(named)) expect(hash).toBe(sectionHashes[name])
    if (sealed.manifest === undefined) expect(Object.keys(named).sort()).toEqual(derived.sort())
  })

  test("has its manifest hash", () => {
    for (const manifest of [document.manifest, document.partial_manifest].filter(it => it !== undefined))
      expect(digest(withoutMember(membersOf(manifest), "ManifestHash"))).toBe(membersOf(manifest).ManifestHash)
  })

  test("has six ExecutionIDs over kernel, version, output, findings and what the kernel read", () => {
    const hash = (name: string): Json => membersOf(sections[name]).hash ?? ""
    const [declared_sections, request_substance] = [
      valueAt(sections, "/envelope/declared_sections_hash") ?? "",
      hash("request_substance"),
    ]
    const ofClose = sections.permit === undefined ? {} : { permit: hash("permit"), closing: hash("closing") }
    const inputs: Readonly<Record<string, Json>> = {
      DSE: { envelope: hash("envelope"), payload: hash("payload") },
      TOK: { envelope: hash("envelope"), declared_sections },
      DSC: { declared_sections, causal_graph: hash("causal_graph") },
      NREP: { request_substance, attested_context: hash("attested_context") },
      AIVP: { payload: hash("payload"), attested_context: hash("attested_context"), request_substance },
      DCAE: { request_substance },
    }
    for (const record of itemsOf(valueAt(sections, "/efa/kernels")).map(membersOf)) {
      const { execution_id, ...rest } = record
      const read = { ...membersOf(inputs[`${record.kernel}`]), ...ofClose }
      expect(digest({ kind: "vfa.kernel.v2", ...rest, inputs: read })).toBe(execution_id)
    }
  })

  test("derives its identifiers", () => {
    const envelope = membersOf(sections.envelope)
    if (envelope.envelope_id === undefined) return expect(valueAt(document, "/run/outcome_kind")).toBe("stage_error")
    const names = ["program_id", "route_id", "registry_record_hash", "payload_hash", "admission_clock", "run_nonce"]
    const inputs = Object.fromEntries(names.map(name => [name, envelope[name] ?? null]))
    expect(envelope.envelope_id).toBe(`env-${digest({ kind: "vfa.envelope_id.v1", ...inputs }).slice(0, 16)}`)
    const transport = membersOf(sections.transport)
    const sequence = digest({ kind: "vfa.sequence_id.v1", envelope_hash: envelope.hash ?? null })
    expect(transport.sequence_id).toBe(`seq-${sequence.slice(0, 16)}`)
  })

  test("is named by its complete-record leaf, with its tenant's commitment", () => {
    const leaf = membersOf(valueAt(document, "/anchors/complete_record/leaf"))
    const run = membersOf(document.run)
    if (leaf.bundle_hash === undefined) return expect(run.leaf_version).not.toBe("vfa.leaf.v7")
    const { tenant_id = null, tenant_salt = null } = run
    const hashes = {
      manifest_hash: valueAt(document, "/manifest/ManifestHash"),
      receipt_hash: Object.entries(document).find(([key]) => key.endsWith("_receipt"))?.[1],
      run_record_hash: digest({ kind: "vfa.run_record.v1", run, section_hashes: sectionHashes }),
    }
    const record =
      hashes.receipt_hash !== undefined
        ? { receipt_hash: membersOf(hashes.receipt_hash).hash ?? null }
        : hashes.manifest_hash !== undefined
          ? { manifest_hash: hashes.manifest_hash }
          : { run_record_hash: hashes.run_record_hash }
    const { tenant_ordinal = null, previous_record = null } = leaf
    expect(leaf).toEqual({
      leaf_version: "vfa.complete_record.v1",
      run_id: run.run_id,
      bundle_hash: document.bundle_hash,
      ...record,
      tenant_commitment: digest({ kind: "vfa.tenant_commitment.v1", tenant_id, tenant_salt }),
      tenant_ordinal,
      previous_record,
    })
  })
})

test("each complete-record leaf of a tenant names the digest of the one before it, counting from one", () => {
  const leaves = chain
    .map(({ document }) => valueAt(document, "/anchors/complete_record/leaf"))
    .filter(it => it !== undefined)
  leaves.forEach((leaf, at) => {
    const before = leaves[at - 1]
    expect(valueAt(leaf, "/tenant_ordinal")).toBe(at + 1)
    expect(valueAt(leaf, "/previous_record")).toBe(before === undefined ? "0".repeat(64) : digest(before))
  })
})

describe.each(openings)("the $name, computed a second time", ({ document }) => {
  const sections = Object.fromEntries(
    Object.entries(membersOf(document.sections)).map(([name, section]) => [name, membersOf(section).hash ?? null]),
  )
  const { opening_hash = null, leaf: _leaf, entry: _entry, permit_id = null, ...rest } = document

  test("has its hash, and a permit of its envelope", () => {
    expect(digest({ ...rest, permit_id, sections })).toBe(opening_hash)
    const envelope_hash = sections.envelope ?? null
    expect(permit_id).toBe(`pmt-${digest({ kind: "vfa.permit_id.v1", envelope_hash }).slice(0, 32)}`)
  })

  test("is named by its leaf, with its tenant's commitment", () => {
    const { tenant_id = null, tenant_salt = null } = document
    const { tenant_ordinal = null, previous_record = null } = membersOf(document.leaf)
    expect(document.leaf).toEqual({
      leaf_version: "vfa.opening_leaf.v1",
      permit_id,
      opening_hash,
      tenant_commitment: digest({ kind: "vfa.tenant_commitment.v1", tenant_id, tenant_salt }),
      tenant_ordinal,
      previous_record,
    })
  })
})

test.each(ends)("the $name has its hash, and is named by its leaf", ({ document }) => {
  const { end_hash = null, leaf, entry: _entry, ...rest } = document
  expect(digest(rest)).toBe(end_hash)
  expect(leaf).toMatchObject({ leaf_version: "vfa.permit_end_leaf.v1", end_hash })
})

test.each(closes)(
  "$name is the close of its opening: what it takes over has the same hashes, and it settles what was reserved",
  ({ bundle, opening }) => {
    const [record, before] = [membersOf(asJson(bundle.sections)), membersOf(asJson(opening))]
    const opened = membersOf(before.sections)
    const same = Object.keys(opened).filter(name => !["payload", "policy_evaluation", "mcd_finding"].includes(name))
    for (const name of same) expect(membersOf(record[name]).hash).toBe(membersOf(opened[name]).hash)
    const { opening_leaf_digest, opening_log_index } = membersOf(record.permit)
    expect(opening_leaf_digest).toBe(digest(before.leaf ?? null))
    expect(opening_log_index).toBe(valueAt(before, "/entry/logIndex"))
    const {
      tokens = 0,
      reserved = 0,
      ordinal = 0,
      total_after = 0,
    } = membersOf(valueAt(record, "/budget_snapshot/window"))
    const reservation = membersOf(before.reservation)
    expect(reserved).toBe(reservation.tokens)
    expect(Number(total_after)).toBe(Number(reservation.total_after) - Number(reserved) + Number(tokens))
    expect(Number(ordinal) - Number(reservation.ordinal)).toBe(Number(tokens) > Number(reserved) ? 2 : 1)
  },
)
