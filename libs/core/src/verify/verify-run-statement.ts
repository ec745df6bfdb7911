/**
 * Verifies a run statement in its DSSE envelope: a service key that you trust signed it. Only the record's own bundle shows that what
 * the statement says of the record is so, and that the record is in the log. docs/formats.md section 14.
 */
import { canonicalize, decodeBase64, holdsNul, type JsonObject, readStrictJson, utf8Decode } from "@runseal/canonical"
import { type DsseEnvelope, dsseEnvelopeSchema, dsseKeyId, isSignedBy } from "@runseal/log/entries/dsse"
import type { ServiceKey, TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type Parsed, parseExact } from "../artifacts/parse-exact.ts"
import { type RunPredicate, type RunStatement, runStatementSchema, subjectName } from "../artifacts/run-statement.ts"
import { isObject } from "../vocabulary/json-members.ts"
import { isRefused, OUTCOMES, withMark } from "../vocabulary/outcomes.ts"
import { clockSeconds } from "../vocabulary/scalars.ts"
import { IN_TOTO_PAYLOAD_TYPE, RUN_STATEMENT_PREDICATE_TYPE } from "../vocabulary/versions.ts"
import { brokenRules } from "./contradictions.ts"
import { collectFindings, conclude, type Findings } from "./examination.ts"
import { type EvidenceLine, kindOf, line } from "./kind.ts"
import { enforcementOf, type RecordFacts, runFacts } from "./record-facts.ts"
import { limitation, type Report, VERDICTS } from "./report.ts"

export const RUN_STATEMENT = /* @__PURE__ */ kindOf<EnvelopedStatement>({
  document: "run_statement",
  title: "Run statement",
  genuine: "The service signed this statement; no log holds it.",
  verdict: "run_statement",
  recognizes: value => Object.hasOwn(value, "payloadType"),
  parse: parseRunStatement,
  verify: verifyRunStatement,
  anchors: () => [],
  evidence: ({ statement }) => evidenceOf(statement),
})

/** An envelope with the statement in it. */
export type EnvelopedStatement = {
  readonly envelope: DsseEnvelope
  readonly statement: RunStatement
  /** The signed text. */
  readonly text: string
}

/** Reads the shape of an envelope and of the statement in it. Their values are for the checks. */
export function parseRunStatement(value: JsonObject): Parsed<EnvelopedStatement> {
  const parsed = parseExact(dsseEnvelopeSchema, value)
  if (!parsed.ok) return parsed
  const envelope = parsed.value
  if (envelope.payloadType !== IN_TOTO_PAYLOAD_TYPE) return refused("the envelope holds no in-toto statement")
  const text = utf8Decode(decodeBase64(envelope.payload) ?? Uint8Array.of())
  const payload = text === undefined ? undefined : readStrictJson(text)
  if (text === undefined || !isObject(payload) || holdsNul(payload))
    return refused("payload: must be the base64 of a strict JSON object")
  if (payload.predicateType !== RUN_STATEMENT_PREDICATE_TYPE)
    return refused(`the in-toto statement is none of a run: its predicateType is not ${RUN_STATEMENT_PREDICATE_TYPE}`)
  const statement = parseExact(runStatementSchema, payload)
  return statement.ok ? { ok: true, value: { envelope, statement: statement.value, text } } : statement
}

const refused = (problem: string): { readonly ok: false; readonly problem: string } => ({ ok: false, problem })

/** The trusted key that an envelope names, with the trust document that has it. */
export function statementKey(
  { signatures: [signature] }: DsseEnvelope,
  trusts: readonly TrustedKeys[],
): { readonly trust: TrustedKeys; readonly key: ServiceKey } | undefined {
  for (const trust of trusts) {
    const key = trust.serviceKeys.find(({ spki }) => dsseKeyId(spki) === signature?.keyid)
    if (key !== undefined) return { trust, key }
  }
  return undefined
}

function verifyRunStatement(enveloped: EnvelopedStatement, trusts: readonly TrustedKeys[]): Report {
  const { envelope, statement, text } = enveloped
  const { run_id, outcome_kind, created_at } = statement.predicate
  const findings = collectFindings()
  findings.require("shape", canonicalize(statement) === text, "the payload is not in its RFC 8785 form")
  const isNamed = statement.subject[0]?.name === subjectName(run_id)
  findings.require("shape", isNamed, "the subject's name is not that of the run")
  findings.fail("shape", ...contradictions(statement.predicate))
  const signer = statementKey(envelope, trusts)
  if (signer === undefined) findings.lack("signature", UNTRUSTED_KEY)
  else checkSignature(enveloped, signer.key, findings)
  return conclude(
    { trust: signer?.trust, findings },
    {
      document: "run_statement",
      good: VERDICTS.run_statement,
      passed: {
        shape: "the envelope holds one statement, of one run, that does not contradict itself",
        signature: "a service key signed the statement",
      },
      statement: outcome_kind === "ok" ? undefined : withMark(OUTCOMES[outcome_kind].sentence, statement.predicate),
      clock: created_at,
      run_id,
      outcome_kind,
      facts: statementFacts(statement),
      withheld: [],
      limitations: [
        limitation("statement_of_record"),
        limitation("signing_time"),
        ...(statement.predicate.enforcement === undefined ? [] : [limitation("observed_only")]),
      ],
      anchors: [],
    },
  )
}

const UNTRUSTED_KEY = "no service key that you trust signed it"

/** Nothing dates the signature. So a key counts if it was never revoked, and was still in use when the run was admitted. */
function checkSignature({ envelope, statement }: EnvelopedStatement, key: ServiceKey, findings: Findings): void {
  findings.require("signature", isSignedBy(envelope, key.spki), "the signature is not that of the key it names")
  findings.require(
    "signature",
    key.revokedFrom === undefined,
    "the service key was revoked, and nothing dates the signature",
  )
  const admitted = clockSeconds(statement.predicate.created_at) ?? Number.POSITIVE_INFINITY
  const inUse = key.validTo === undefined || admitted <= key.validTo
  findings.require("signature", inUse, "the service key was no longer in use when the run was admitted")
}

/** What is wrong in a statement, because no record of its outcome can give it. */
function contradictions({
  outcome_kind,
  manifest_hash,
  receipt_hash,
  policy_hash,
  ai_output_hash,
  anchors,
}: RunPredicate): readonly string[] {
  const refusal = isRefused(outcome_kind)
  return brokenRules([
    [(manifest_hash !== undefined) === !refusal, "an ok run, and no other, has a manifest hash"],
    [(receipt_hash !== undefined) === refusal, "a refused run, and no other, has a receipt hash"],
    [(anchors.pre_anchor !== undefined) === !refusal, "an ok run, and no other, has a pre-anchor"],
    [
      (policy_hash === undefined) === (outcome_kind === "attestation_gap"),
      "an attestation gap, and no other run, has no policy hash",
    ],
    [outcome_kind !== "aivp_t4_halt" || ai_output_hash !== undefined, "a review that halted a run had an AI output"],
    [refusal || anchors.receipt === undefined, "only a refused run has a receipt anchor"],
  ])
}

/** The facts of a run statement, which states no cause. */
const statementFacts = ({ predicate }: RunStatement): RecordFacts => ({
  ...runFacts(predicate),
  ...enforcementOf(predicate),
})

function evidenceOf({ subject, predicate }: RunStatement): readonly EvidenceLine[] {
  const { anchors } = predicate
  return [
    ...line("run", predicate.run_id),
    ...line("outcome", predicate.outcome_kind),
    ...line("enforcement", predicate.enforcement),
    ...line("created_at", predicate.created_at),
    ...line("tenant", predicate.tenant_id),
    ...line("program", predicate.program_id),
    ...line("route", predicate.route_id),
    ...line("region", predicate.execution_region),
    ...line("payload_hash", predicate.payload_hash),
    ...line("ai_output_hash", predicate.ai_output_hash),
    ...line("policy_hash", predicate.policy_hash),
    ...line("manifest_hash", predicate.manifest_hash),
    ...line("receipt_hash", predicate.receipt_hash),
    ...line("log_entry", anchors.pre_anchor?.log_index ?? anchors.receipt?.log_index),
    ...line("complete_record_entry", anchors.complete_record.log_index),
    ...line("bundle_hash", subject[0]?.digest.sha256),
  ]
}
