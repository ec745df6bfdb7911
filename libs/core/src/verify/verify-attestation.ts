/** Verifies an attestation of `POST /attest`, as it was answered or as it is listed. docs/formats.md section 7.6. */
import type { JsonObject } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { AttestationDocument, ListedAttestation } from "../artifacts/attestation-answer.ts"
import { attestationAnswerSchema, listedAttestationSchema } from "../artifacts/attestation-answer.ts"
import { type Parsed, parseExact } from "../artifacts/parse-exact.ts"
import { clockMillis } from "../vocabulary/scalars.ts"
import { checkAnchor, chooseTrust, FIRST_ANCHOR_IDS } from "./anchor-check.ts"
import { anchorFact } from "./bundle.ts"
import { withKeyNotes } from "./key-notes.ts"
import type { Findings, Report } from "./report.ts"
import { collectFindings, limitation, VERDICTS } from "./report.ts"

/** Reads either form's shape; only an answer has `ok`. */
export const parseAttestation = (value: JsonObject): Parsed<AttestationDocument> =>
  Object.hasOwn(value, "ok") ? parseExact(attestationAnswerSchema, value) : parseExact(listedAttestationSchema, value)

/** What a list adds repeats leaf and entry. */
function checkListed({ leaf, entry, ...listed }: ListedAttestation, findings: Findings): void {
  findings.require("leaf", listed.algorithm === leaf.algorithm, "the algorithm is not the leaf's")
  findings.require("leaf", listed.subject_ref === leaf.subject_ref, "the subject is not the leaf's")
  const logged = Number(entry.integratedTime) * 1000
  findings.require("log_time", clockMillis(listed.created_at) === logged, "created_at is not the entry's log time")
}

/** Verifies an attestation against keys from outside it. Its only time is the log's. Never throws. */
export function verifyAttestation(document: AttestationDocument, trusts: readonly TrustedKeys[]): Report {
  const findings = collectFindings()
  const { leaf, entry } = document
  const trust = chooseTrust(entry, trusts)
  findings.require("leaf", leaf.digest === document.digest, "the digest is not the leaf's")
  findings.require("leaf", leaf.attestation_id === document.attestation_id, "the attestation id is not the leaf's")
  findings.require("leaf", document.log_entry_id === entry.logIndex, "log_entry_id is not the entry's index")
  const listed = "created_at" in document
  if (listed) checkListed(document, findings)
  checkAnchor({ leaf, entry }, { leaf, clock: undefined, ids: FIRST_ANCHOR_IDS }, trust, findings)
  const checks = findings.checks({
    shape: "the attestation has the fields it must have",
    leaf: listed
      ? "digest, id, algorithm and subject are the anchored leaf's"
      : "digest and id are the anchored leaf's",
    entry: `log entry ${entry.logIndex} holds the leaf, signed by the service`,
    inclusion: "inclusion proof, checkpoint and timestamp are the log's",
    ...(listed ? { log_time: "created_at is the entry's log time" } : {}),
  })
  const failed = checks.find(check => check.result === "fail")
  const report: Report = {
    document: "attestation",
    verdict: failed === undefined ? VERDICTS.attestation : VERDICTS.failed,
    ...(failed === undefined ? {} : { first_failure: failed.id }),
    checks,
    ...(trust === undefined ? {} : { service: trust.service }),
    withheld: [],
    limitations: [limitation("operator_log"), limitation("declared_content")],
    anchors: [anchorFact("attestation", { leaf, entry })],
  }
  return withKeyNotes(report, [{ leaf, entry }], trust)
}
