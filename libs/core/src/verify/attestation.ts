/** Verifies an attestation of `POST /attest`. FORMATS §5, §8. */
import * as v from "valibot"
import type { AttestationLeaf } from "../artifacts/anchor.ts"
import { attestationLeafSchema } from "../artifacts/anchor.ts"
import type { TransparencyLogEntry } from "../transparency-log/log-entry.ts"
import { transparencyLogEntrySchema } from "../transparency-log/log-entry.ts"
import type { TrustedKeys } from "../transparency-log/trusted-keys.ts"
import { decimalSchema, nonEmptySchema, sha256Schema } from "../vocabulary/scalars.ts"
import { checkAnchor, chooseTrust, FIRST_ANCHOR_IDS } from "./anchor-check.ts"
import { anchorFact } from "./bundle.ts"
import type { Report } from "./report.ts"
import { collectFindings, limitation, VERDICTS } from "./report.ts"

export type AttestationDocument = {
  readonly ok: true
  readonly attestation_id: string
  readonly digest: string
  readonly log_entry_id: string
  readonly leaf: AttestationLeaf
  readonly entry: TransparencyLogEntry
}

export const attestationDocumentSchema: v.GenericSchema<unknown, AttestationDocument> = v.strictObject({
  ok: v.literal(true),
  attestation_id: nonEmptySchema,
  digest: sha256Schema,
  log_entry_id: decimalSchema,
  leaf: attestationLeafSchema,
  entry: transparencyLogEntrySchema,
})

/** Verifies an attestation against keys from outside it. Its only time is the log's. Never throws. */
export function verifyAttestation(document: AttestationDocument, trusts: readonly TrustedKeys[]): Report {
  const findings = collectFindings()
  const { leaf, entry } = document
  const trust = chooseTrust(entry, trusts)
  findings.require("leaf", leaf.digest === document.digest, "the digest is not the leaf's")
  findings.require("leaf", leaf.attestation_id === document.attestation_id, "the attestation id is not the leaf's")
  findings.require("leaf", document.log_entry_id === entry.logIndex, "log_entry_id is not the entry's index")
  checkAnchor({ leaf, entry }, { leaf, clock: undefined, ids: FIRST_ANCHOR_IDS }, trust, findings)
  const checks = findings.checks({
    shape: "the attestation has the fields it must have",
    leaf: "digest and id are the anchored leaf's",
    entry: `log entry ${entry.logIndex} holds the leaf, signed by the service`,
    inclusion: "inclusion proof, checkpoint and timestamp are the log's",
  })
  const failed = checks.find(check => check.result === "fail")
  return {
    document: "attestation",
    verdict: failed === undefined ? VERDICTS.attestation : VERDICTS.failed,
    ...(failed === undefined ? {} : { first_failure: failed.id }),
    checks,
    ...(trust === undefined ? {} : { service: trust.service }),
    withheld: [],
    limitations: [limitation("operator_log"), limitation("declared_content")],
    anchors: [anchorFact("attestation", { leaf, entry })],
  }
}
