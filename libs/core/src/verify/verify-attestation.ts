/** Verifies an attestation of `POST /attest`, as it was answered or as it is listed. docs/formats.md section 7.6. */
import type { JsonObject } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { AttestationDocument, ListedAttestation } from "../artifacts/attestation-answer.ts"
import { attestationAnswerSchema, listedAttestationSchema } from "../artifacts/attestation-answer.ts"
import { type Parsed, parseExact } from "../artifacts/parse-exact.ts"
import { clockMillis } from "../vocabulary/scalars.ts"
import { checkAnchor, chooseTrust, passedEntry } from "./anchor-check.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import { collectFindings, conclude, type Findings } from "./examination.ts"
import { kindOf } from "./kind.ts"
import { limitation, type Report, VERDICTS } from "./report.ts"

export const ATTESTATION = /* @__PURE__ */ kindOf<AttestationDocument>({
  document: "attestation",
  title: "Attestation",
  genuine: "The attestation is genuine.",
  verdict: "attestation",
  recognizes: value => Object.hasOwn(value, "attestation_id"),
  parse: parseAttestation,
  verify: verifyAttestation,
  anchors: anchorsOf,
})

/** Reads the shape of an attestation in either form: only the answer of `POST /attest` has `ok`. */
function parseAttestation(value: JsonObject): Parsed<AttestationDocument> {
  return Object.hasOwn(value, "ok")
    ? parseExact(attestationAnswerSchema, value)
    : parseExact(listedAttestationSchema, value)
}

/** The members that only a list has repeat leaf and entry. */
function checkListed({ leaf, entry, ...listed }: ListedAttestation, findings: Findings): void {
  findings.require("leaf", listed.algorithm === leaf.algorithm, "the algorithm is not the leaf's")
  findings.require("leaf", listed.subject_ref === leaf.subject_ref, "the subject is not the leaf's")
  const logged = Number(entry.integratedTime) * 1000
  findings.require("log_time", clockMillis(listed.created_at) === logged, "created_at is not the entry's log time")
}

/** Verifies an attestation against keys from outside it. Its only time is the log's. Never throws. */
function verifyAttestation(document: AttestationDocument, trusts: readonly TrustedKeys[]): Report {
  const { leaf, entry } = document
  const findings = collectFindings()
  const examination = { trust: chooseTrust(entry, trusts), findings }
  findings.require("leaf", leaf.digest === document.digest, "the digest is not the leaf's")
  findings.require("leaf", leaf.attestation_id === document.attestation_id, "the attestation id is not the leaf's")
  findings.require("leaf", document.log_entry_id === entry.logIndex, "log_entry_id is not the entry's index")
  const listed = "created_at" in document
  if (listed) checkListed(document, findings)
  checkAnchor({ leaf, entry }, { leaf, clock: undefined }, examination)
  return conclude(examination, {
    document: "attestation",
    good: VERDICTS.attestation,
    passed: {
      shape: "the attestation has the fields it must have",
      leaf: listed
        ? "digest, id, algorithm and subject are the anchored leaf's"
        : "digest and id are the anchored leaf's",
      ...passedEntry(entry),
      ...(listed ? { log_time: "created_at is the entry's log time" } : {}),
    },
    withheld: [],
    limitations: [limitation("operator_log"), limitation("declared_content")],
    anchors: anchorsOf(document),
  })
}

function anchorsOf({ leaf, entry }: AttestationDocument): readonly SlottedAnchor[] {
  return [{ slot: "attestation", anchor: { leaf, entry } }]
}
