/**
 * What other people's tools need to verify a run statement: the envelope, alone and as a Sigstore bundle, the file whose SHA-256
 * is its subject, and the key. The key comes from the trust document alone, never from the record or the envelope.
 */
import { canonicalize } from "@runseal/canonical"
import { sigstoreEnvelopeBundle } from "@runseal/log/entries/sigstore-bundle"
import { spkiToPem } from "@runseal/log/keys/spki"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { formatTrustedRoot } from "@runseal/log/trust/trusted-root"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { RunStatement } from "../artifacts/run-statement.ts"
import { reduce } from "../derivation/derive.ts"
import { bundlePreimageText } from "../formulas/manifest-sections.ts"
import { runStatement, runStatementText } from "../formulas/run-statement-text.ts"
import { chooseTrust } from "./anchor-check.ts"
import { type ExportedFile, exportedText, indented, TRUSTED_ROOT_NAME } from "./sigstore-export.ts"
import { type EnvelopedStatement, statementKey } from "./verify-run-statement.ts"

/** Names of the files of an export. */
export const STATEMENT_FILES: Readonly<Record<"record" | "envelope" | "bundle" | "key" | "root", string>> = {
  /** SHA-256 of these bytes is the record's `bundle_hash`. */
  record: "record.json",
  envelope: "statement.intoto.json",
  bundle: "statement.sigstore.json",
  key: "service.pub",
  /** No log holds the envelope, but cosign reads no bundle without a trusted root. */
  root: TRUSTED_ROOT_NAME,
}

/** Why a statement does not go out with a record, as the end of a sentence. */
type StatementProblem = { readonly problem: string }

/**
 * The files for a statement and its record, both of which were verified with these trusts and did not fail. The statement must be
 * the one that the record gives, in every member, and both must be held to one trust document.
 */
export function statementExport(
  enveloped: EnvelopedStatement,
  bundle: Bundle,
  trusts: readonly TrustedKeys[],
): readonly ExportedFile[] | StatementProblem {
  const expected = runStatement(bundle)
  if (expected === undefined) return { problem: "the record has no run statement" }
  const other = differenceOf(expected, enveloped.statement)
  if (other !== undefined) return { problem: `the statement is not this record's: ${other} differs` }
  const known = statementKey(enveloped.envelope, trusts)
  const anchor = bundle.anchors.complete_record
  const recordTrust = anchor && chooseTrust(anchor.entry, trusts)
  if (known === undefined || known.trust !== recordTrust)
    return { problem: "record and statement are not vouched for by one trust document" }
  return [
    exportedText(STATEMENT_FILES.record, bundlePreimageText(reduce(bundle))),
    exportedText(STATEMENT_FILES.envelope, indented(enveloped.envelope)),
    exportedText(STATEMENT_FILES.bundle, indented(sigstoreEnvelopeBundle(enveloped.envelope, known.key.spki))),
    exportedText(STATEMENT_FILES.key, spkiToPem(known.key.spki)),
    exportedText(STATEMENT_FILES.root, indented(formatTrustedRoot(known.trust.logKeys))),
  ]
}

/** Path of the first member that differs. */
function differenceOf(expected: RunStatement, found: RunStatement): string | undefined {
  if (runStatementText(expected) === runStatementText(found)) return undefined
  const { predicate } = expected
  const names = [...new Set([...Object.keys(predicate), ...Object.keys(found.predicate)])]
  const text = (from: RunStatement, name: string): string => {
    const value = new Map(Object.entries(from.predicate)).get(name)
    return value === undefined ? "" : canonicalize(value)
  }
  const name = names.find(candidate => text(expected, candidate) !== text(found, candidate))
  return name === undefined ? "subject" : `predicate.${name}`
}
