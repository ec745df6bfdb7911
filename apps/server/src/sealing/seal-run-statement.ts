/**
 * Run statements: what the service's key says of a sealed record to other people's tools. They are made when they are asked for,
 * of the stored text alone, and only of one that the auditor's verifier accepts: whoever writes into the database must not get the
 * key's signature for it. docs/formats.md section 14; decision 0062.
 */
import { canonicalize, sha256Hex, utf8Encode } from "@runseal/canonical"
import { runStatement, runStatementText } from "@runseal/core/formulas/run-statement-text"
import { isUnreadable, parseDocument, readBundle, verifyParsed } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { IN_TOTO_PAYLOAD_TYPE } from "@runseal/core/vocabulary/versions"
import { preAuthenticationEncoding, signEnvelope } from "@runseal/log/entries/dsse"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type EcdsaKey, signOne } from "../keys/ecdsa-keys.ts"

/** Findings kept in memory, some 2 KB each: a record that is asked for again is neither verified nor signed again. */
const MAX_KEPT = 256

/** Why there is no statement of a record: it says of itself that it is no attestation, or one of its keys is revoked from then on. */
export type NoStatement = "stage_error" | "revoked_key"
/** The envelope, as the JSON text that is answered. */
type RunStated = { readonly envelope: string } | { readonly absent: NoStatement }

/**
 * States a record, or says why there is no statement of it.
 * @param text the stored bundle
 * @throws Error for a text that does not verify for any other reason: the database was changed from outside
 * @throws SignerFailure when the service key is kept elsewhere and nobody signs there
 */
export type StateRun = (text: string) => Promise<RunStated>

/** Signs with the service's key. @param trust the service's own, which every stored record is held to */
export function openRunStatements(key: EcdsaKey, trust: TrustedKeys): StateRun {
  // By the record's bytes: what was found once is right for them as long as these keys are the ones in force.
  const kept = new Map<string, RunStated>()
  return async text => {
    const id = sha256Hex(text)
    const known = kept.get(id)
    if (known !== undefined) return known
    const stated = await state(statementOf(text, trust), key)
    const [oldest] = kept.keys()
    if (oldest !== undefined && kept.size >= MAX_KEPT) kept.delete(oldest)
    kept.set(id, stated)
    return stated
  }
}

async function state(found: Found, key: EcdsaKey): Promise<RunStated> {
  if ("absent" in found) return found
  const payload = utf8Encode(found.statement)
  const signature = await signOne(key, preAuthenticationEncoding(IN_TOTO_PAYLOAD_TYPE, payload))
  return {
    envelope: canonicalize(signEnvelope(IN_TOTO_PAYLOAD_TYPE, payload, { spki: key.spki, sign: () => signature })),
  }
}

type Found = { readonly statement: string } | { readonly absent: NoStatement }

function statementOf(text: string, trust: TrustedKeys): Found {
  const parsed = parseDocument(text)
  const bundle = isObject(parsed.value) ? readBundle(parsed.value) : undefined
  const readable = bundle !== undefined && !("unreadable" in bundle)
  if (!readable || !isComplete(parsed, trust)) {
    if (readable && isComplete(parsed, unrevoked(trust))) return { absent: "revoked_key" }
    throw new Error("a stored record does not verify, and nothing was signed for it")
  }
  const statement = runStatement(bundle)
  return statement === undefined ? { absent: "stage_error" } : { statement: runStatementText(statement) }
}

function isComplete(parsed: ReturnType<typeof parseDocument>, trust: TrustedKeys): boolean {
  const report = verifyParsed(parsed, [trust])
  return !isUnreadable(report) && report.verdict === VERDICTS.complete
}

/**
 * The same keys as if none were revoked: a record that verifies with these alone was not changed by anybody. Of a log key the trust
 * document tells no revocation from a retirement.
 */
const unrevoked = (trust: TrustedKeys): TrustedKeys => ({
  ...trust,
  serviceKeys: trust.serviceKeys.map(({ revokedFrom: _, ...key }) => key),
  logKeys: trust.logKeys.map(({ validTo: _, ...key }) => key),
})
