/** The command line as Commander parses it: help, errors of usage, and every command but a plain verification. */
import { escapeControls } from "@runseal/core/presentation/printable"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { Command, CommanderError } from "commander"
import type { Answer } from "./exit-answer.ts"
import { InputError } from "./input-error.ts"
import type { Style } from "./print.ts"
import { createProgress } from "./progress.ts"
import { addTrust, listTrust, removeTrust } from "./trust-command.ts"
import { trustFolder } from "./trust-store.ts"
import { trustsOf } from "./verify-command.ts"
import { SWITCHES, type Verification, type VerifyOptions } from "./verify-words.ts"
import { VERSION } from "./version.ts"

type ExportOptions = {
  readonly sigstore?: string
  readonly inToto?: string
  readonly envelope?: string
  readonly force: boolean
}

type AuditFlags = {
  readonly quick: boolean
  readonly witness: readonly string[]
  readonly witnessesNeeded?: string
  readonly holds: readonly string[]
}

const EXIT_CODES = `
Exit codes:
  0  verified and anchored
  1  FAILED, or not anchored (0 with --allow-unanchored)
  2  not readable, not a document of ours, wrong usage, or the verifier itself failed

Nothing goes to the network unless <document> is an address.`

const EXPORT_OPTIONS = `
The record is verified first; --trust, --strict and --ascii mean what they mean there. A record that FAILED or is not
anchored is not exported, and the exit code is 1.`

const AUDIT_OPTIONS = `
--trust, --json and --ascii mean what they mean for a verification. With --witnesses-needed alone, the witnesses are those
of the trust document. Exit codes:
  0  the log is whole and still holds every checkpoint seen before
  1  FAILED: it is not signed with a key you trust, not cosigned by enough witnesses, contradicts itself, is not the
     log that was seen before, or lacks a document's entry
  2  it could not be read`

/** Runs a command line. @param verify verifies the document it names. Throws InputError. */
export async function commandLineAnswer(
  words: readonly string[],
  style: Style,
  verify: (verification: Verification) => Promise<Answer>,
): Promise<Answer> {
  let answer: Answer = { stdout: "", stderr: "", exit: 2 }
  try {
    await commandLine(style, verify, result => {
      answer = result
    }).parseAsync(words, { from: "user" })
    return answer
  } catch (error) {
    // Commander has already printed the error, help or version.
    if (error instanceof CommanderError) return { ...answer, exit: error.exitCode === 0 ? 0 : 2 }
    throw error
  }
}

/** Commander's error on one line, its control characters escaped: through a wildcard, the arguments may be file names that strangers chose. */
const misuse = (text: string): string =>
  `${escapeControls(
    text
      .trimEnd()
      .replace("\n(Did you mean", " (Did you mean")
      .replace(/^error:/, "verifier:"),
  )}\n`

/** The commands with their options. @param setAnswer receives the answer of the command that runs */
function commandLine(
  style: Style,
  verify: (verification: Verification) => Promise<Answer>,
  setAnswer: (answer: Answer) => void,
): Command {
  const folder = (): string => trustFolder(process.env)
  const program = new Command("verifier").exitOverride().showHelpAfterError("(see verifier --help)")
  program
    .configureHelp({ optionDescription: option => option.description })
    .configureOutput({ outputError: (text, write) => write(misuse(text)) })
    .description(
      "Verifies a sealed record offline: an audit bundle, a receipt, an attestation, a run statement, or a report in PDF.",
    )
    .version(VERSION)
    .argument("<document>", "a file, - for standard input, or an https address")
    .option("--trust <file>", "believe this trust document instead of the pinned ones (repeatable)", appended, [])
  for (const [flag, , description] of SWITCHES) program.option(flag, description, false)
  program
    .addHelpText("after", EXIT_CODES)
    .action(async (document: string, options: VerifyOptions) => setAnswer(await verify({ document, options })))
  program
    .command("export")
    .description("write a record's anchors as files that cosign and other tools verify")
    .argument("<document>", "a file, - for standard input, or an https address")
    .option("--sigstore <dir>", "write leaves, Sigstore bundles and keys to this folder; created if missing")
    .option("--in-toto <dir>", "write the run statement of --envelope to this folder; created if missing")
    .option("--envelope <envelope>", "the service's run statement: a file, - or an https address")
    .option("--force", "overwrite files of the same names", false)
    .addHelpText("after", EXPORT_OPTIONS)
    .action(async (argument: string, options: ExportOptions) => {
      const { trust, strict, ...others } = program.opts<VerifyOptions>()
      const misused = Object.values<unknown>({ ...others, ascii: false }).includes(true)
      if (misused)
        throw new InputError("Of the verifier's own options only --trust, --strict and --ascii go with export.")
      setAnswer(await exportAnswer(argument, options, strict, () => trustsOf(trust, folder), style))
    })
  program
    .command("log")
    .description("audit the log of a service")
    .command("audit")
    .description("rebuild the whole log and compare it with every checkpoint seen before")
    .argument("<log>", "a service's address, or a folder with a copy of its log")
    .option("--quick", "rebuild only the entries since the last audit that passed", false)
    .option("--witness <vkey>", "verifier key of a witness who should have cosigned the log (repeatable)", appended, [])
    .option("--witnesses-needed <count>", "how many of the witnesses must have cosigned it (default: all)")
    .option("--holds <document>", "a document whose log entries must be in this log (repeatable)", appended, [])
    .addHelpText("after", AUDIT_OPTIONS)
    .action(async (argument: string, { quick, witness, witnessesNeeded: needed, holds: documents }: AuditFlags) => {
      const { auditCommand } = await import("./log-command.ts")
      const { trust, json, ascii, ...others } = program.opts<VerifyOptions>()
      if (Object.values<unknown>(others).includes(true))
        throw new InputError("Of the verifier's own options only --trust, --json and --ascii go with log audit.")
      const options = { quick, documents, witness, needed, json, folder: folder() }
      setAnswer(
        await auditCommand(argument, await trustsOf(trust, folder), options, style, createProgress(process.stderr)),
      )
    })
  trustCommands(program, folder, style, setAnswer)
  return program
}

/** Runs the export that the options name. Throws InputError. */
async function exportAnswer(
  argument: string,
  { sigstore, inToto, envelope, force }: ExportOptions,
  strict: boolean,
  trusts: () => Promise<readonly TrustedKeys[]>,
  style: Style,
): Promise<Answer> {
  if (sigstore !== undefined && inToto === undefined && envelope === undefined) {
    const { exportSigstore } = await import("./export-command.ts")
    return await exportSigstore(argument, { folder: sigstore, force, strict }, await trusts(), style)
  }
  if (sigstore === undefined && inToto !== undefined && envelope !== undefined) {
    const { exportStatement } = await import("./verify-export-command.ts")
    return await exportStatement(argument, envelope, { folder: inToto, force, strict }, await trusts(), style)
  }
  throw new InputError("An export takes either --sigstore, or --in-toto with --envelope.")
}

/** The commands under `verifier trust`. */
function trustCommands(
  program: Command,
  folder: () => string,
  style: Style,
  setAnswer: (answer: Answer) => void,
): void {
  const trust = program.command("trust").description("the services whose records you believe")
  trust
    .command("add")
    .description("pin a service's trust document, from a file or its address")
    .argument("<document>", "a file, - or an https address; a bare https://host means its well-known trust document")
    .option("--replace", "replace another document of the same service", false)
    .action(async (argument: string, { replace }: { readonly replace: boolean }) => {
      setAnswer(await addTrust(argument, replace, folder(), style))
    })
  trust
    .command("list")
    .description("list the pinned trust documents")
    .action(() => setAnswer(listTrust(folder(), style)))
  trust
    .command("remove")
    .description("remove the trust document of a service")
    .argument("<service>", "its name as trust list shows it")
    .action((service: string) => setAnswer(removeTrust(service, folder(), style)))
}

const appended = (value: string, before: readonly string[]): readonly string[] => [...before, value]
