/**
 * Run statements: what the service's key says of a sealed record to other people's tools. They are made when they are asked for,
 * of the stored text alone, and only of one that the auditor's verifier accepts: whoever writes into the database must not get the
 * key's signature for it. FORMATS, "Run statement"; docs/decisions/0062.
 */
import { canonicalize, sha256Hex, utf8Encode } from "@runseal/canonical"
import { runStatement, runStatementText } from "@runseal/core/formulas/run-statement"
import { preAuthenticationEncoding, signEnvelope } from "@runseal/core/transparency-log/dsse"
import type { TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import { isUnreadable, parseDocument, readBundle, verifyParsed } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { IN_TOTO_PAYLOAD_TYPE } from "@runseal/core/vocabulary/versions"
import type { EcdsaKey } from "../anchor/keys.ts"

/** Envelopes kept in memory, some 2 KB each: a record that is asked for again is neither verified nor signed again. */
const MAX_KEPT = 256

/**
 * The envelope of a record's statement, as the JSON text that is answered; undefined for a stage_error, whose record is no
 * attestation.
 * @param text the stored bundle
 * @throws Error for a text that does not verify: the database was changed from outside
 * @throws SignerFailure when the service key is kept elsewhere and nobody signs there
 */
export type StateRun = (text: string) => Promise<string | undefined>

/** Signs with the service's key. @param trust the service's own, which every stored record is held to */
export function openRunStatements(key: EcdsaKey, trust: TrustedKeys): StateRun {
  // By the record's bytes: what was signed once is right for them for ever.
  const kept = new Map<string, string>()
  return async text => {
    const id = sha256Hex(text)
    const known = kept.get(id)
    if (known !== undefined) return known
    const statement = statementOf(text, trust)
    if (statement === undefined) return undefined
    const payload = utf8Encode(statement)
    await key.ask?.([preAuthenticationEncoding(IN_TOTO_PAYLOAD_TYPE, payload)])
    const envelope = canonicalize(signEnvelope(IN_TOTO_PAYLOAD_TYPE, payload, key))
    const [oldest] = kept.keys()
    if (oldest !== undefined && kept.size >= MAX_KEPT) kept.delete(oldest)
    kept.set(id, envelope)
    return envelope
  }
}

function statementOf(text: string, trust: TrustedKeys): string | undefined {
  const parsed = parseDocument(text)
  const report = verifyParsed(parsed, [trust])
  const bundle = isObject(parsed.value) ? readBundle(parsed.value) : undefined
  if (bundle === undefined || "unreadable" in bundle || isUnreadable(report) || report.verdict !== VERDICTS.complete)
    throw new Error("a stored record does not verify, and nothing was signed for it")
  const statement = runStatement(bundle)
  return statement && runStatementText(statement)
}
