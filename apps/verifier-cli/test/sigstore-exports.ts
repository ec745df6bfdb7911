/** Exports of every kind of record, made by the command itself, and the ways in which each is spoilt. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { formatTrustedRoot } from "@runseal/log/trust/trusted-root"
import { VERDICTS } from "../../../libs/core/src/verify/report.ts"
import { type SignerKind, testAuthority } from "../../../libs/core/test/fixtures/authority.ts"
import { type Deployment, makeDeployment, sealRun, trusted } from "../../../libs/core/test/fixtures/deployment.ts"
import { enterAll, listing, outsideLog, tiledLog, withOutside } from "../../../libs/core/test/fixtures/outside-logs.ts"
import { sealCorpus } from "../../../libs/core/test/fixtures/sample-corpus.ts"
import { exportSigstore } from "../src/export-command.ts"

/** What a foreign tool is given for one anchor. */
export type Material = {
  readonly leaf: Buffer
  /** JSON text. */
  readonly bundle: string
  /** PEM text. */
  readonly key: string
  /** JSON text of the trusted root. */
  readonly root: string
}
/** `name` is the record's and the anchor's slot. */
export type Exported = { readonly name: string; readonly material: Material }

const BUNDLE_END = ".sigstore.json"
const STYLE = { colour: false, ascii: false }

/** Exports a document into a folder of its own below this one; gives its anchors. */
async function exported(folder: string, name: string, document: unknown, { trust }: Deployment): Promise<Exported[]> {
  const own = join(folder, name)
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, "document.json"), JSON.stringify(document))
  const flags = { folder: join(own, "export"), force: false, strict: false }
  const { exit, stdout } = await exportSigstore(join(own, "document.json"), flags, [trust], STYLE)
  if (exit !== 0) throw new Error(`${name} was not exported:\n${stdout}`)
  return readExport(flags.folder).map(one => ({ ...one, name: `${name}, ${one.name}` }))
}

/** The anchors of every record of the corpus that carries some; files go below the folder. */
export async function exportCorpus(folder: string): Promise<readonly Exported[]> {
  const deployment = makeDeployment()
  const { runs, receipts, attestations } = sealCorpus(deployment)
  const documents = [
    ...runs.map(({ name, verdict, document }) => ({ name, verdict, document: document.bundle })),
    ...receipts.map(({ name, verdict, document }) => ({ name: `receipt of ${name}`, verdict, document })),
    ...attestations,
  ].filter(({ verdict }) => verdict !== VERDICTS.unanchored && verdict !== VERDICTS.receipt_unanchored)
  const all = documents.map(({ name, document }) => exported(folder, name, document, deployment))
  return (await Promise.all(all)).flat()
}

/** A good export of a service that nobody trusts here. */
export async function exportOfAnother(folder: string): Promise<Material> {
  const deployment = makeDeployment({ seed: "another" })
  const { bundle } = sealRun(deployment, { outcome: "ok" })
  const [first] = await exported(folder, "another", bundle, deployment)
  if (first === undefined) throw new Error("nothing was exported")
  return first.material
}

/** An export of a service whose log had another key before: its trusted root lists both. */
export async function exportAfterChange(folder: string): Promise<readonly Exported[]> {
  const [deployment, earlier] = [makeDeployment(), makeDeployment({ seed: "earlier" })]
  const { bundle } = sealRun(deployment, { outcome: "ok" })
  const retired = earlier.trust.logKeys.map(key => ({ ...key, validTo: key.validFrom + 1 }))
  const trusted_root = formatTrustedRoot([...retired, ...deployment.trust.logKeys])
  const trust = trusted({ ...deployment.trustDocument, trusted_root })
  return exported(folder, "after-change", bundle, { ...deployment, trust })
}

/**
 * An export of a record that is also in a Rekor log of each version: its trusted root lists them and the timestamp authorities.
 * There is one Rekor v2 log for each kind of key that an authority may have.
 */
export async function exportFromOutside(folder: string, seed = "outside"): Promise<readonly Exported[]> {
  const kinds: readonly SignerKind[] = ["p256", "p384", "rsa"]
  const deployment = makeDeployment({ seed })
  const { bundle } = sealRun(deployment, { outcome: "ok" })
  const tiled = kinds.map(kind =>
    tiledLog(kind, testAuthority({ kind, host: `${kind}.tsa.example` }), `${kind}.rekor.example`),
  )
  const logs = [outsideLog("v1"), ...tiled]
  // An earlier record in each log, so that every proof has a path.
  const earlier = sealRun(deployment, { outcome: "ok" }).bundle
  for (const log of logs) enterAll(log, earlier.anchors)
  const record = withOutside(bundle, ...logs.map(log => enterAll(log, bundle.anchors)))
  const trust = trusted(listing(deployment.trustDocument, ...logs))
  return exported(folder, "from-outside", record, { ...deployment, trust })
}

/** The anchors of an export of a record with one service key. */
export const readExport = (folder: string): readonly Exported[] =>
  readdirSync(folder)
    .filter(name => name.endsWith(BUNDLE_END))
    .map(file => {
      const name = file.slice(0, -BUNDLE_END.length)
      const text = (path: string): string => readFileSync(join(folder, path), "utf8")
      const [slot = ""] = name.split(".")
      const leaf = readFileSync(join(folder, `${slot}.leaf.json`))
      const [key, root] = [text("service.pub"), text("trusted_root.json")]
      return { name, material: { leaf, bundle: text(file), key, root } }
    })

/** One change to an export, which no tool may accept. `another` is a good export of another deployment. */
export type Spoiler = readonly [what: string, spoil: (good: Material, another: Material) => Material]

type Json = ReturnType<typeof JSON.parse>
const inBundle =
  (edit: (bundle: Json, another: Json) => void): Spoiler[1] =>
  (good, another) => {
    const bundle = JSON.parse(good.bundle)
    edit(bundle, JSON.parse(another.bundle))
    return { ...good, bundle: JSON.stringify(bundle) }
  }
const entryOf = (bundle: Json): Json => bundle.verificationMaterial.tlogEntries[0]
/** Base64 of the same bytes but for one bit in the middle. */
const flipped = (base64: string): string => {
  const bytes = Buffer.from(base64, "base64")
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1)
  return bytes.toString("base64")
}

export const SPOILERS: readonly Spoiler[] = [
  ["a leaf with one letter changed", good => ({ ...good, leaf: Buffer.from(`${good.leaf}`.replace("v", "w")) })],
  ["a leaf with a newline more", good => ({ ...good, leaf: Buffer.concat([good.leaf, Buffer.from("\n")]) })],
  ["another service key", (good, { key }) => ({ ...good, key })],
  ["another log's trusted root", (good, { root }) => ({ ...good, root })],
  ["another bundle", (good, { bundle }) => ({ ...good, bundle })],
  [
    "no log entry",
    inBundle(({ verificationMaterial }) => {
      verificationMaterial.tlogEntries = []
    }),
  ],
  [
    "a changed signature",
    inBundle(({ messageSignature }) => {
      messageSignature.signature = flipped(messageSignature.signature)
    }),
  ],
  [
    "another log's entry",
    inBundle((bundle, another) => {
      bundle.verificationMaterial.tlogEntries = another.verificationMaterial.tlogEntries
    }),
  ],
  [
    "another log time",
    inBundle(bundle => {
      const entry = entryOf(bundle)
      entry.integratedTime = `${Number(entry.integratedTime) + 1}`
    }),
  ],
  [
    "a changed promise of the log",
    inBundle(bundle => {
      const { inclusionPromise } = entryOf(bundle)
      inclusionPromise.signedEntryTimestamp = flipped(inclusionPromise.signedEntryTimestamp)
    }),
  ],
  [
    "a changed proof",
    inBundle(bundle => {
      const { hashes } = entryOf(bundle).inclusionProof
      hashes[0] = flipped(hashes[0])
    }),
  ],
  [
    "another log's checkpoint",
    inBundle((bundle, another) => {
      entryOf(bundle).inclusionProof.checkpoint = entryOf(another).inclusionProof.checkpoint
    }),
  ],
]

/** Whether an export is of an entry of Rekor v2, whose time a timestamp says, or should. */
export const isStamped = ({ material }: Pick<Exported, "material">): boolean =>
  /"version": ?"0\.0\.2"/.test(material.bundle)

const stampOf = (bundle: Json): Json => bundle.verificationMaterial.timestampVerificationData.rfc3161Timestamps[0]

/** What no tool may accept of an entry of Rekor v2; `another` is an export of another signature with its timestamp. */
export const STAMPED_SPOILERS: readonly Spoiler[] = [
  ...SPOILERS.filter(([what]) => !/log time|promise/.test(what)),
  [
    "a changed timestamp",
    inBundle(bundle => {
      // In its signature: sigstore-js does not look at the certificates in the middle.
      const bytes = Buffer.from(stampOf(bundle).signedTimestamp, "base64")
      bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
      stampOf(bundle).signedTimestamp = bytes.toString("base64")
    }),
  ],
  [
    "no timestamp",
    inBundle(({ verificationMaterial }) => {
      verificationMaterial.timestampVerificationData = undefined
    }),
  ],
  [
    "the timestamp of another signature",
    inBundle((bundle, another) => {
      stampOf(bundle).signedTimestamp = stampOf(another).signedTimestamp
    }),
  ],
  [
    "a trusted root without its authority",
    good => ({ ...good, root: JSON.stringify({ ...JSON.parse(good.root), timestampAuthorities: [] }) }),
  ],
  [
    "a trusted root without its log",
    good => {
      const root = JSON.parse(good.root)
      return { ...good, root: JSON.stringify({ ...root, tlogs: root.tlogs.slice(0, 1) }) }
    },
  ],
]
