/** Help after the options: examples, exit codes, and what the options of a verification mean for other commands. */

export const VERIFY_HELP = `
Examples:
  verifier bundle.json --trust runseal-trust.json
  verifier bundle.json --require-outcome ok --payload payload.txt --max-age 24h
  verifier records/ --csv > records.csv
  verifier export.ndjson --complete --budgets

Exit codes:
  0  verified and anchored
  1  FAILED, not as expected, or not anchored (0 with --allow-unanchored)
  2  not readable, not a document of ours, wrong usage, or the verifier itself failed

Nothing goes to the network unless a document is an address.`

export const EXPORT_HELP = `
The record is verified first; --trust, --strict and --ascii mean what they mean there. A record that FAILED or is not
anchored is not exported, and the exit code is 1.

Examples:
  verifier export bundle.json --sigstore anchors
  verifier export bundle.json --in-toto statement --envelope statement.intoto.json`

const VERIFIED_FIRST = `
The record is verified first, and the verdict goes to standard error; --trust and --ascii mean what they mean there. A record
that FAILED is not written, and the exit code is 1. One that only lacks a key that you trust is written.`

export const FORM_HELP = {
  expand: `${VERIFIED_FIRST}

Examples:
  verifier expand bundle.json --out full.json
  verifier expand bundle.json | jq .sections.transcript`,
  withhold: `${VERIFIED_FIRST}

What was computed from the section stays: codes and numbers of findings, numbers of values and of times, and in the budget
the declared tokens. So does what a finding or a gap receipt names: a place or a field, never its value.

Example:
  verifier withhold bundle.json --section authorization_chain --section causal_graph --out shown.json`,
  approve: `
The request is verified, and the payload must be the sealed one; --trust and --ascii mean what they mean there. Every member of
the payload is read from the payload itself, and nothing is cut. With --issuer and --subject, which are yours, the digest is
printed that your passkey signs. The exit code is 0 only for a request that verifies, with its payload.

Example:
  verifier approve --offline approval.json --issuer https://login.example --subject anna@example`,
} as const

export const AUDIT_HELP = `
--trust, --json and --ascii mean what they mean for a verification. With --witnesses-needed alone, the witnesses are those
of the trust document. Exit codes:
  0  the log is whole and still holds every checkpoint seen before
  1  FAILED: it is not signed with a key you trust, not cosigned by enough witnesses, contradicts itself, is not the
     log that was seen before, or lacks a document's entry
  2  it could not be read

Examples:
  verifier log audit https://runs.example.com
  verifier log audit ./log-copy --quick --holds bundle.json`

export const TRUST_HELP = `
Examples:
  verifier trust show runseal-trust.json
  verifier trust add https://runs.example.com
  verifier trust add runseal-trust.json --replace
  verifier trust remove "Example Run Service"`
