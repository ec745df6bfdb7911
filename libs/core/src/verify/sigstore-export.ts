/**
 * What other people's tools need to verify the anchors of a record: for each its leaf and a Sigstore bundle, and the public
 * keys to hold them against. Keys come from the trust document alone, never from the record.
 */
import { decodeBase64, equalBytes, type JsonObject, utf8Encode } from "@runseal/canonical"
import { parseEntryBody, type TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { sigstoreBundle, tiledSigstoreBundle } from "@runseal/log/entries/sigstore-bundle"
import { spkiToPem } from "@runseal/log/keys/spki"
import { parseOrigin } from "@runseal/log/notes/checkpoint"
import type { TimestampAuthority } from "@runseal/log/timestamps/timestamp-authority"
import type { LogKey, TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { formatTrustedRoot } from "@runseal/log/trust/trusted-root"
import type { OutsideEntry } from "../artifacts/anchor.ts"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { leafText } from "../formulas/leaves.ts"
import { chooseTrust } from "./anchor-check.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import { anchorsOutside } from "./outside.ts"

/** A file to write; its name is one of a few words of ours, without folder. */
export type ExportedFile = { readonly name: string; readonly bytes: Uint8Array }

/** The names of the files that verify one anchor together. */
export type ExportedAnchor = {
  readonly slot: SlottedAnchor["slot"]
  readonly log_index: string
  readonly leaf: string
  readonly bundle: string
  readonly key: string
  /** Host of the log, where it is not the service's own. */
  readonly outside_log?: string
  /** Whether the bundle's time is that of a timestamp in it. */
  readonly stamped?: true
}

export type SigstoreExport = {
  readonly files: readonly ExportedFile[]
  readonly anchors: readonly ExportedAnchor[]
}

export const TRUSTED_ROOT_NAME = "trusted_root.json"

/**
 * The files for the anchors of a record that was verified with these trusts and did not fail: at most three anchors, and as
 * many keys; and as many bundles more for each outside log. Undefined when there is no anchor, or when the trusts do not vouch for
 * one of them.
 * @param record the bundle whose anchors these are, if it is one: its anchors in outside logs are exported too
 */
export function sigstoreExport(
  anchors: readonly SlottedAnchor[],
  trusts: readonly TrustedKeys[],
  record?: Pick<Bundle, "anchors">,
): SigstoreExport | undefined {
  const [first] = anchors
  const trust = first && chooseTrust(first.anchor.entry, trusts)
  if (trust === undefined) return undefined
  const parts = anchors.map(({ slot, anchor }) => {
    const [spki, bundle] = [serviceKeyOf(anchor.entry, trust), sigstoreBundle(anchor.entry)]
    return spki && bundle && { slot, anchor, bundle, pem: spkiToPem(spki) }
  })
  const known = parts.filter(part => part !== undefined)
  if (known.length < parts.length) return undefined
  const pems = [...new Set(known.map(({ pem }) => pem))]
  const files = known.flatMap(({ slot, anchor, bundle }) => [
    exportedText(leafName(slot), leafText(anchor.leaf)),
    exportedText(bundleName(slot), indented(bundle)),
  ])
  const own = known.map(({ slot, anchor, pem }) => ({
    slot,
    log_index: anchor.entry.logIndex,
    leaf: leafName(slot),
    bundle: bundleName(slot),
    key: keyName(pems.indexOf(pem)),
  }))
  const outside = record === undefined ? NOTHING : outsideExport(record, own, trust)
  if (outside === undefined) return undefined
  const root = formatTrustedRoot([...trust.logKeys, ...outside.logKeys], outside.authorities)
  return {
    files: [
      ...files,
      ...outside.files,
      ...pems.map((pem, at) => exportedText(keyName(at), pem)),
      exportedText(TRUSTED_ROOT_NAME, indented(root)),
    ],
    anchors: [...own, ...outside.anchors],
  }
}

type OutsideExport = SigstoreExport & {
  readonly logKeys: readonly LogKey[]
  readonly authorities: readonly TimestampAuthority[]
}
const NOTHING: OutsideExport = { files: [], anchors: [], logKeys: [], authorities: [] }

/** The bundles of the same leaves in outside logs, with what the trusted root lists for them. Undefined as above. */
function outsideExport(
  { anchors }: Pick<Bundle, "anchors">,
  own: readonly ExportedAnchor[],
  trust: TrustedKeys,
): OutsideExport | undefined {
  const found = anchorsOutside(anchors, trust).flatMap(([log, slotted], at) =>
    slotted.map(({ slot, anchor }) => {
      const [exported, body] = [own.find(one => one.slot === slot), anchors[slot]?.entry.canonicalizedBody]
      const bundle = body && bundleOutside(anchor, body)
      const host = log && parseOrigin(log.origin)?.host
      if (!exported || !bundle || log === undefined || host === undefined) return undefined
      const name = `${slot}.outside-${at + 1}.sigstore.json`
      const { logIndex: log_index } = anchor.entry
      const stamped = "timestamp" in anchor ? { stamped: true as const } : {}
      return {
        log,
        file: exportedText(name, indented(bundle)),
        row: { ...exported, log_index, bundle: name, outside_log: host, ...stamped },
      }
    }),
  )
  const known = found.filter(one => one !== undefined)
  if (known.length < found.length) return undefined
  return {
    files: known.map(({ file }) => file),
    anchors: known.map(({ row }) => row),
    logKeys: [...new Set(known.flatMap(({ log }) => log.logKeys))],
    authorities: known.some(({ row }) => "stamped" in row) ? (trust.timestampAuthorities ?? []) : [],
  }
}

const bundleOutside = (entered: OutsideEntry, ownBody: string): JsonObject | undefined =>
  "timestamp" in entered
    ? tiledSigstoreBundle(entered.entry, entered.timestamp, ownBody)
    : sigstoreBundle(entered.entry)

/** The trusted service key that the entry names. */
function serviceKeyOf(entry: TransparencyLogEntry, trust: TrustedKeys): Uint8Array | undefined {
  const body = decodeBase64(entry.canonicalizedBody)
  const named = body && parseEntryBody(body)?.spkiDer
  return named && trust.serviceKeys.find(({ spki }) => equalBytes(spki, named))?.spki
}

const leafName = (slot: SlottedAnchor["slot"]): string => `${slot}.leaf.json`
const bundleName = (slot: SlottedAnchor["slot"]): string => `${slot}.sigstore.json`
/** A record has one service key unless the service changed its key between two of its anchors. */
const keyName = (at: number): string => (at === 0 ? "service.pub" : `service-${at + 1}.pub`)

/** A file of a text. */
export const exportedText = (name: string, text: string): ExportedFile => ({ name, bytes: utf8Encode(text) })
/** JSON for people and other people's parsers; what is hashed is canonical instead. */
export const indented = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`
