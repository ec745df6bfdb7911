/** `verifier <document>`: reads the document and verifies it. */
import { linesOf } from "@runseal/core/presentation/lines"
import { isPdf } from "@runseal/core/report-pdf/is-pdf"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Answer } from "./exit-answer.ts"
import { InputError } from "./input-error.ts"
import type { Style } from "./print.ts"
import { DOCUMENT_LIMITS, isAddress, readChunks, readFile, readInput } from "./read-input.ts"
import { parseTrustFile, readPinned, TRUST_LIMITS } from "./trust-store.ts"
import type { Write } from "./verify-stream.ts"
import { verifyStream } from "./verify-stream.ts"
import type { VerifyFlags } from "./verify-text.ts"
import { answerOf, verifyInput } from "./verify-text.ts"

/** Verifies the document behind the argument with the keys of `trustFiles`, or with the pinned ones. Throws InputError. */
export async function verifyCommand(
  argument: string,
  trustFiles: readonly string[],
  folder: () => string,
  flags: VerifyFlags,
  style: Style,
): Promise<Answer> {
  const trusts = await trustsOf(trustFiles, folder)
  const input = await readInput(argument)
  if (!isPdf(input)) return verifyInput(input, trusts, flags, style)
  const { verifyReport } = await import("./report-file.ts")
  const { report, record } = await verifyReport(input, trusts)
  return answerOf(report, record, trusts, flags, style)
}

/** Whether the file name says that it holds one document a line. */
export const isStream = (argument: string): boolean => argument.endsWith(".ndjson")

/** Verifies every line behind the argument; as `verifyCommand` otherwise. Throws InputError. */
export async function verifyStreamCommand(
  argument: string,
  trustFiles: readonly string[],
  folder: () => string,
  flags: VerifyFlags,
  style: Style,
  write: Write,
): Promise<Answer> {
  if (flags.showEvidenceSummary)
    throw new InputError("--show-evidence-summary speaks of one document, not of a stream.")
  const trusts = await trustsOf(trustFiles, folder)
  const lines = linesOf(readChunks(argument), DOCUMENT_LIMITS.maxBytes)
  return { stdout: "", stderr: "", exit: await verifyStream(lines, trusts, flags, style, write) }
}

/** Verifies an export with every record in it; as `verifyStreamCommand` otherwise. Throws InputError. */
export async function completeCommand(
  argument: string,
  trustFiles: readonly string[],
  folder: () => string,
  flags: VerifyFlags,
  style: Style,
): Promise<Answer> {
  const { verifyComplete } = await import("./complete-command.ts")
  const trusts = await trustsOf(trustFiles, folder)
  return verifyComplete(linesOf(readChunks(argument), DOCUMENT_LIMITS.maxBytes), trusts, flags, style)
}

/** The keys of these files, or the pinned ones when none is named. Throws InputError. */
export const trustsOf = async (trustFiles: readonly string[], folder: () => string): Promise<readonly TrustedKeys[]> =>
  trustFiles.length === 0 ? readPinned(folder()).map(({ keys }) => keys) : await readTrusts(trustFiles)

/** Keys from files only. Keys fetched in the same run as the document would prove nothing. */
async function readTrusts(paths: readonly string[]): Promise<readonly TrustedKeys[]> {
  const trusts: TrustedKeys[] = []
  for (const path of paths) {
    if (isAddress(path)) throw new InputError("--trust takes a file; to pin from an address use verifier trust add.")
    trusts.push(parseTrustFile(await readFile(path, TRUST_LIMITS), path).keys)
  }
  return trusts
}
