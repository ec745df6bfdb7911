/** What a kind of document is to its readers: one row says how it is recognized, read, verified and shown. The rows are `KINDS`. */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { AdminEvent } from "../artifacts/admin-event.ts"
import type { Counts } from "../artifacts/anchor.ts"
import type { ApprovalRequest } from "../artifacts/approval-request.ts"
import type { ExportStatement } from "../artifacts/export-statement.ts"
import type { Opening } from "../artifacts/opening.ts"
import type { Parsed } from "../artifacts/parse-exact.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import type { BundleForms } from "./bundle-forms.ts"
import type { ChainDocument, CountedDocument } from "./chain-document.ts"
import { type Unreadable, unreadable } from "./parsed-text.ts"
import { type Report, VERDICTS, type Verdict } from "./report.ts"

/** The row of a kind, whatever its value is. */
export type DocumentKind = {
  /** As reports name it. */
  readonly document: string
  /** As the first line of a verification names it. */
  readonly title: string
  /** What its good verdict means, as a sentence. */
  readonly genuine: string
  /** What a document that a service has just sealed and anchored must get. */
  readonly verdict: Verdict
  /** The count of an export statement that it adds to; undefined for a kind of no chain. */
  readonly counted: keyof Counts | undefined
  /** Whether a document is of this kind, by the members that only this kind has. */
  readonly recognizes: (value: JsonObject) => boolean
  /** Reads its shape. What it says is for the checks. */
  readonly read: (value: JsonObject) => ReadDocument | Unreadable
}

/** A document whose shape is right, with what its kind does with it. */
export type ReadDocument = ValueOfOneKind &
  Pick<DocumentKind, "document" | "verdict"> & {
    /** Against keys from outside it. Never throws. */
    readonly verify: (trusts: readonly TrustedKeys[], known?: KnownTexts) => Report
    /** Its anchors in the service's own log, in the order of its report. */
    readonly anchors: () => readonly SlottedAnchor[]
    /** Labelled facts in reading order, for people. Nothing is checked here. */
    readonly evidence: () => readonly EvidenceLine[]
    /** Undefined for a document of no chain. */
    readonly inChain: () => CountedDocument | undefined
  }

/** The values of kinds that programs speak of by name. */
type ValueOfOneKind = {
  readonly forms?: BundleForms
  readonly opening?: Opening
  readonly request?: ApprovalRequest
  readonly event?: AdminEvent
  readonly statement?: ExportStatement
}

/** What a kind does with a value of its shape. */
type Kind<Value> = Omit<DocumentKind, "read" | "verdict" | "counted"> & {
  // Its name in VERDICTS: reading a member would tell a bundler that the call has an effect.
  readonly verdict: keyof typeof VERDICTS
  readonly parse: (value: JsonObject) => Parsed<Value> | Unreadable
  readonly verify: (value: Value, trusts: readonly TrustedKeys[], known?: KnownTexts) => Report
  readonly anchors: (value: Value) => readonly SlottedAnchor[]
  readonly evidence?: (value: Value) => readonly EvidenceLine[]
  /** Absent for a kind of no chain. */
  readonly inChain?: { readonly counted: keyof Counts; readonly document: (value: Value) => ChainDocument }
  readonly named?: (value: Value) => ValueOfOneKind
}

/** The row of a kind. Its calls are marked pure: a bundler leaves a row out, with all that verifies it, where nobody asks for it. */
export const kindOf = <Value>(kind: Kind<Value>): DocumentKind => ({
  document: kind.document,
  title: kind.title,
  genuine: kind.genuine,
  verdict: VERDICTS[kind.verdict],
  counted: kind.inChain?.counted,
  recognizes: kind.recognizes,
  read: json => {
    const parsed = kind.parse(json)
    if ("unreadable" in parsed) return parsed
    if (!parsed.ok) return unreadable(parsed.problem)
    const { value } = parsed
    return {
      ...kind.named?.(value),
      document: kind.document,
      verdict: VERDICTS[kind.verdict],
      verify: (trusts, known) => kind.verify(value, trusts, known),
      anchors: () => kind.anchors(value),
      evidence: () => kind.evidence?.(value) ?? [],
      inChain: () => kind.inChain && { ...kind.inChain.document(value), counted: kind.inChain.counted },
    }
  },
})

// The lines of an evidence summary: what a document states, for people. The report says what of it was checked.

/** A fact: `label` for people, `key` for programs. */
export type EvidenceLine = { readonly key: string; readonly label: string; readonly value: string }

const LABELS: Readonly<Record<string, string>> = {
  payload_hash: "payload SHA-256",
  ai_output_hash: "AI output SHA-256",
  declared_output_hash: "output SHA-256 as declared",
  complete_record_entry: "complete-record entry",
}

/** The line of a fact; none where the document does not state it. */
export const line = (key: string, value: string | number | undefined): readonly EvidenceLine[] =>
  value === undefined ? [] : [{ key, label: LABELS[key] ?? key.replaceAll("_", " "), value: `${value}` }]
