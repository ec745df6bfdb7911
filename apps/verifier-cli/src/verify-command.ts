/** `verifier <document>…`: reads documents and verifies them. */
import { linesOf } from "@runseal/core/presentation/lines"
import type { FoldOptions } from "@runseal/core/verify/completeness"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type Answer, InputError } from "./exit-answer.ts"
import type { Style } from "./print.ts"
import { createProgress } from "./progress.ts"
import {
  DOCUMENT_LIMITS,
  isAddress,
  isFolder,
  isStream,
  isThere,
  readChunks,
  readFile,
  readInput,
} from "./read-input.ts"
import { parseTrustFile, readPinned, TRUST_LIMITS } from "./trust-store.ts"
import { noted, verifyAny, withBeside } from "./verify-any.ts"
import { verifyStream, type Write } from "./verify-stream.ts"
import { answerOf, type VerifyFlags } from "./verify-text.ts"
import { COMMANDS, type MoreOptions, type Verification } from "./verify-words.ts"

/** Verifies the documents of the command line. @param folder of the trust store. Throws InputError. */
export async function verifyCommand(
  verification: Verification,
  folder: () => string,
  style: Style,
  write: Write,
): Promise<Answer> {
  if (verification.more?.format !== "quiet") return await verifyDocuments(verification, folder, style, write)
  let output = ""
  const { stdout, ...answer } = await verifyDocuments(verification, folder, style, async text => {
    output = text
  })
  return { ...answer, stdout: lastLine(stdout || output) }
}

const lastLine = (text: string): string => text.slice(text.lastIndexOf("\n", text.length - 2) + 1)

async function verifyDocuments(
  { documents, options: { trust, ndjson, complete, budgets, ...asked }, more }: Verification,
  folder: () => string,
  style: Style,
  write: Write,
): Promise<Answer> {
  const readAtMs = Date.now()
  const trusts = await trustsOf(trust, folder)
  const [document = ""] = documents
  const isTable = documents.length > 1 || more?.format === "table" || more?.format === "csv" || isFolder(document)
  const form = complete ? "export" : isTable || ndjson || isStream(document) ? "several" : "one"
  const flags: VerifyFlags = { ...asked, readAtMs, ...(await flagsOf(more, readAtMs, trusts, form)) }
  if (budgets && !complete)
    throw new InputError("--budgets goes with --complete: the windows of one document are no table.")
  await refuseMisspelt(document)
  if (isTable) {
    if (complete || ndjson) throw new InputError("--complete and --ndjson take one file.")
    const { verifyMany } = await import("./verify-many.ts")
    return await verifyMany(documents, trusts, flags, more?.format, style, write)
  }
  if (form !== "one")
    return await verifyLines(document, complete ? { budgets } : undefined, trusts, flags, style, write)
  const verified = await verifyAny(await readInput(document), trusts)
  return noted(answerOf(verified.report, verified.record, withBeside(flags, verified), style), verified, style)
}

/** A word without a dot that is no file may be meant as a command. Throws InputError. */
async function refuseMisspelt(word: string): Promise<void> {
  if (!/^[a-z-]{3,16}$/.test(word) || isThere(word)) return
  const { commandHint } = await import("./argument-hints.ts")
  const hint = commandHint(word, COMMANDS)
  if (hint !== undefined) throw new InputError(`${word} is no file and no command: ${hint}`)
}

/** What the options add that only Commander parses. */
async function flagsOf(
  more: MoreOptions | undefined,
  readAtMs: number,
  trusts: readonly TrustedKeys[],
  form: "one" | "several" | "export",
): Promise<Partial<VerifyFlags>> {
  if (more === undefined) return {}
  const quiet = more.format === "quiet"
  const { readExpectations, readExportExpectations, readStrictList } = await import("./expected-facts.ts")
  const { strictList, expectations } = more
  return {
    quiet,
    ...(strictList === undefined ? {} : { refused: readStrictList(strictList) }),
    ...(expectations === undefined
      ? {}
      : form === "export"
        ? await readExportExpectations(expectations)
        : { expectations: await readExpectations(expectations, readAtMs, trusts, form === "several") }),
  }
}

/** Verifies every line of a stream, or a whole export. */
async function verifyLines(
  document: string,
  complete: FoldOptions | undefined,
  trusts: readonly TrustedKeys[],
  flags: VerifyFlags,
  style: Style,
  write: Write,
): Promise<Answer> {
  if (flags.showEvidenceSummary)
    throw new InputError("--show-evidence-summary speaks of one document, not of a stream or an export.")
  const lines = linesOf(readChunks(document), DOCUMENT_LIMITS.maxBytes)
  const progress = createProgress(process.stderr, "documents")
  try {
    if (complete === undefined)
      return { stdout: "", stderr: "", exit: await verifyStream(lines, trusts, flags, style, write, progress) }
    const { verifyComplete } = await import("./complete-command.ts")
    return await verifyComplete(lines, trusts, flags, complete, style, progress)
  } finally {
    progress.end()
  }
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
