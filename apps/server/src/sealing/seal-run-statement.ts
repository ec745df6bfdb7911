/**
 * Run statements: sealed records as in-toto statements, signed with the service's key for other people's tools. They are made on
 * request, from the stored text alone, and only if the auditor's verifier accepts it: an attacker who writes into the database
 * must not get the key's signature. docs/formats.md section 14; decision 0062.
 */
import { canonicalize, sha256Hex, utf8Encode } from "@runseal/canonical"
import { runStatement, runStatementText } from "@runseal/core/formulas/run-statement-text"
import { readDocument, verifyRead } from "@runseal/core/verify/document"
import { parseDocument } from "@runseal/core/verify/parsed-text"
import { VERDICTS } from "@runseal/core/verify/report"
import { IN_TOTO_PAYLOAD_TYPE } from "@runseal/core/vocabulary/versions"
import { preAuthenticationEncoding, signEnvelope } from "@runseal/log/entries/dsse"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type EcdsaKey, signOne } from "../keys/ecdsa-keys.ts"
import { unrevoked } from "./verification.ts"

/** Most statements in the cache, some 2 KB each: a cached one is neither verified nor signed again. */
const CACHE_MAX_STATEMENTS = 256

/** Why there is no statement of a record: it is a stage_error, or a key that signed it is revoked since before. */
export type NoStatement = "stage_error" | "revoked_key"
/** The envelope, as the JSON text of the answer. */
type StatementResult = { readonly envelope: string } | { readonly absent: NoStatement }

/**
 * States a record, or says why there is no statement of it.
 * @param text the stored bundle
 * @throws Error for a text that does not verify for any other reason: the database was changed from outside
 * @throws SignerFailure when the service key is at a signer that does not sign
 */
export type StateRun = (text: string) => Promise<StatementResult>

/** Signs with the service's key. @param trust the service's own, with which stored records are verified */
export function createRunStatements(key: EcdsaKey, trust: TrustedKeys): StateRun {
  // By hash of the record's bytes. A cached result is valid for as long as this process runs: its keys do not change.
  const cache = new Map<string, StatementResult>()
  return async text => {
    const id = sha256Hex(text)
    const known = cache.get(id)
    if (known !== undefined) return known
    const result = await state(statementOf(text, trust), key)
    const [oldest] = cache.keys()
    if (oldest !== undefined && cache.size >= CACHE_MAX_STATEMENTS) cache.delete(oldest)
    cache.set(id, result)
    return result
  }
}

async function state(found: Found, key: EcdsaKey): Promise<StatementResult> {
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
  const read = readDocument(parsed)
  const isComplete = (held: TrustedKeys): boolean =>
    !("unreadable" in read) && verifyRead(read, [held], parsed.known).verdict === VERDICTS.complete
  const bundle = "unreadable" in read ? undefined : read.forms?.bundle
  if (bundle === undefined || !isComplete(trust)) {
    if (isComplete(unrevoked(trust))) return { absent: "revoked_key" }
    throw new Error("a stored record does not verify, and nothing was signed for it")
  }
  const statement = runStatement(bundle)
  return statement === undefined ? { absent: "stage_error" } : { statement: runStatementText(statement) }
}
