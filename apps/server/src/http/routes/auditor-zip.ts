/**
 * One file for an auditor: the record, the report on it, the keys that the service publishes, what witnesses signed, and how to verify it all.
 * docs/api.md, "GET /runs/{id}/auditor.zip".
 */
import { utf8Encode } from "@runseal/canonical"
import { zipSync } from "fflate"

/** What goes into the file, each as the service has it. */
export type AuditorParts = {
  readonly run_id: number
  /** Name of the log. */
  readonly origin: string
  /** The bundle's text. */
  readonly bundle: string
  /** Whether the bundle holds what witnesses signed. */
  readonly isWitnessed: boolean
  readonly report: Uint8Array
  /** The trust document's text. */
  readonly trust: string
  /** The newest checkpoint that enough witnesses signed; undefined before the first. */
  readonly checkpoint: string | undefined
}

/** Of every entry, since the format has no time zone: the first day that it can express. */
const ENTRY_TIME = new Date(1980, 0, 1)

/** The same parts give the same bytes: entries are stored and not compressed, so that no release of a compressor changes them. */
export function auditorZip(parts: AuditorParts): Uint8Array<ArrayBuffer> {
  const { bundle, report, trust, checkpoint } = parts
  const entries = {
    "HOW-TO-VERIFY.txt": utf8Encode(howToVerify(parts)),
    "bundle.json": utf8Encode(bundle),
    "report.pdf": report,
    "trust.json": utf8Encode(trust),
    ...(checkpoint === undefined ? {} : { "checkpoint.txt": utf8Encode(checkpoint) }),
  }
  return zipSync(entries, { level: 0, mtime: ENTRY_TIME })
}

/** Name under which the file of a run is saved. */
export const auditorZipName = (runId: number): string => `runseal-run-${runId}-auditor.zip`

const WITNESSED = "bundle.json holds the same signatures, and shows that this tree has the record."
const NOT_YET = "The tree that they signed does not have this record yet."

function howToVerify({ run_id, origin, checkpoint, isWitnessed }: AuditorParts): string {
  const witnesses =
    checkpoint === undefined
      ? "No witness has signed this log.\n"
      : `checkpoint.txt     what witnesses signed of the log last. ${isWitnessed ? WITNESSED : NOT_YET}\n`
  return `How to verify this record

This file is about run ${run_id} of the log "${origin}".
To verify it you need no account and no network.

bundle.json        the sealed record. This is the evidence.
report.pdf         the same record for people, with the record inside. Its pages are the words of the service.
trust.json         the public keys that the service publishes.
${witnesses}
1. Get the verifier.

   Take it from a source that you trust, and not from the person who gave you this file.
   The package is @runseal/verifier. It runs on Node.js 20.12 or later.

2. Get the keys of the service.

   Keys that come with a record prove nothing about who made it: a forger puts own keys beside an own record.
   So the verifier never uses trust.json from this file by itself.
   Unpack trust.json, and look at the fingerprints of its keys. This command stores nothing:

     verifier trust show trust.json

   Ask the operator for the fingerprints, by telephone for example. Do not take the number from this file.
   If one differs, stop: the keys are not those of the operator. If all are the same, store the keys:

     verifier trust add trust.json

3. Verify.

     verifier ${auditorZipName(run_id)}

   Exit code 0, and a last line that begins with VERIFIED, mean that the record is unchanged, that it was signed with
   the keys that you compared, and that it is in the log of the service.
   FAILED and NOT TRUSTED mean that nothing is proven about who made the record.
   The verdict is about bundle.json and report.pdf. It says nothing about the other files.

What this does not prove

   That what the caller declared is true.
   That this is the only record. That none is missing is shown by an export of all records: verifier export.ndjson --complete
   That the service shows the same log to everybody. Witnesses that you chose show that.
`
}
