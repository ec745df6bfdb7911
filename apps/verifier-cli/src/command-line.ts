/** The command line as Commander parses it: help, errors of usage, and every command but a plain verification. */
import { escapeControls } from "@runseal/core/presentation/printable"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { Argument, Command, CommanderError, Option } from "commander"
import { type Answer, InputError } from "./exit-answer.ts"
import { DECIDED_BY, DECISION_SWITCHES, EXPECTATION_FLAGS, type ExpectationOptions } from "./expected-facts.ts"
import { approveCommands, formCommands } from "./form-commands.ts"
import { AUDIT_HELP, EXPORT_HELP, TRUST_HELP, VERIFY_HELP } from "./help-texts.ts"
import { printJson, type Style } from "./print.ts"
import { createProgress } from "./progress.ts"
import { completionScript, manualPage, SHELLS, type Shell } from "./shell-completion.ts"
import { addTrust, listTrust, removeTrust, showTrust } from "./trust-command.ts"
import { trustFolder } from "./trust-store.ts"
import { trustsOf } from "./verify-command.ts"
import { type OutputFormat, SWITCHES, type Verification, type VerifyOptions } from "./verify-words.ts"
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
    }).parseAsync(words.map(strictList), { from: "user" })
    return answer
  } catch (error) {
    // Commander has already printed the error, help or version.
    if (error instanceof CommanderError)
      return { ...answer, exit: error.exitCode === 0 || asksHelp(error, words) ? 0 : 2 }
    throw error
  }
}

/** Of help that was printed: whether the command asked for it, or lacked a word. Commander gives both the exit code of the process. */
const asksHelp = ({ code }: CommanderError, words: readonly string[]): boolean =>
  code === "commander.help" && words.includes("help")

/** `--strict` takes no value of its own, since it would take the document behind it: a list is an option of its own. */
const strictList = (word: string): string => word.replace(/^--strict=/, "--strict-list=")

/** Commander's error on one line, its control characters escaped: through a wildcard, the arguments may be file names that strangers chose. */
const misuse = (text: string): string =>
  `${escapeControls(
    text
      .trimEnd()
      .replace("\n(Did you mean", " (Did you mean")
      .replace(/^error:/, "verifier:"),
  )}\n`

const folder = (): string => trustFolder(process.env)

/** The commands with their options. @param setAnswer receives the answer of the command that runs */
function commandLine(
  style: Style,
  verify: (verification: Verification) => Promise<Answer>,
  setAnswer: (answer: Answer) => void,
): Command {
  const program = new Command("verifier").exitOverride().showHelpAfterError("(see verifier --help)")
  program
    .configureHelp({ optionDescription: option => option.description })
    .configureOutput({ outputError: (text, write) => write(misuse(text)) })
    .description(
      "Verifies sealed documents offline: an audit bundle, a receipt, an attestation, an opening or an end of permits, a request for an approval, an admin event, a run statement, an export, or a report in PDF.",
    )
    .version(VERSION)
    // Else the word would be taken for a document: only a program without a task of its own has this command by itself.
    .helpCommand("help [command]", "display help for command")
    .argument("<documents...>", "files, folders, - for standard input, or https addresses")
    .option("--trust <file>", "use this trust document instead of the pinned ones (repeatable)", appended, [])
  for (const [flag, , description] of SWITCHES) program.option(flag, description, false)
  for (const name of FORMATS)
    program.addOption(
      new Option(`--${name}`, FORMAT_HELP[name]).conflicts(["json", ...FORMATS.filter(other => other !== name)]),
    )
  addExpectations(program)
  program
    .addOption(new Option("--strict-list <limitations>").hideHelp().argParser(joined))
    .addHelpText("after", VERIFY_HELP)
    .action(async (documents: readonly string[], options: RootOptions) =>
      setAnswer(await verify(verificationOf(documents, options))),
    )
  program
    .command("export")
    .description("write a record's anchors as files that cosign and other tools verify")
    .argument("<document>", "a file, - for standard input, or an https address")
    .option("--sigstore <dir>", "write leaves, Sigstore bundles and keys to this folder; created if missing")
    .option("--in-toto <dir>", "write the run statement of --envelope to this folder; created if missing")
    .option("--envelope <envelope>", "the service's run statement: a file, - or an https address")
    .option("--force", "overwrite files of the same names", false)
    .addHelpText("after", EXPORT_HELP)
    .action(async (argument: string, options: ExportOptions) => {
      const { trust, strict, ...others } = program.opts<VerifyOptions>()
      if (areGiven({ ...others, ascii: false }))
        throw new InputError("Of the verifier's own options only --trust, --strict and --ascii go with export.")
      setAnswer(await exportAnswer(argument, options, strict, () => trustsOf(trust, folder), style))
    })
  formCommands(program, command => trustsAlone(program, command), style, setAnswer)
  approveCommands(program, command => trustsAlone(program, command), style, setAnswer)
  program
    .command("log")
    .description("audit the log of a service")
    .addHelpText("after", "\nExample:\n  verifier log audit https://runs.example.com")
    .command("audit")
    .description("rebuild the whole log and compare it with every checkpoint seen before")
    .argument("<log>", "a service's address, or a folder with a copy of its log")
    .option("--quick", "rebuild only the entries since the last audit that passed", false)
    .option("--witness <vkey>", "verifier key of a witness who should have cosigned the log (repeatable)", appended, [])
    .option("--witnesses-needed <count>", "how many of the witnesses must have cosigned it (default: all)")
    .option("--holds <document>", "a document whose log entries must be in this log (repeatable)", appended, [])
    .addHelpText("after", AUDIT_HELP)
    .action(async (argument: string, { quick, witness, witnessesNeeded: needed, holds: documents }: AuditFlags) => {
      const { auditCommand } = await import("./log-command.ts")
      const { trust, json, ascii, ...others } = program.opts<VerifyOptions>()
      if (areGiven(others))
        throw new InputError("Of the verifier's own options only --trust, --json and --ascii go with log audit.")
      const options = { quick, documents, witness, needed, json, folder: folder() }
      setAnswer(
        await auditCommand(
          argument,
          await trustsOf(trust, folder),
          options,
          style,
          createProgress(process.stderr, "entries"),
        ),
      )
    })
  trustCommands(program, style, setAnswer)
  printingCommands(program, setAnswer)
  return program
}

/** The keys that the options name, where no other option may be given. Throws InputError. */
async function trustsAlone(program: Command, command: string): Promise<readonly TrustedKeys[]> {
  const { trust, ascii, ...others } = program.opts<VerifyOptions>()
  if (areGiven(others))
    throw new InputError(`Of the verifier's own options only --trust and --ascii go with ${command}.`)
  return await trustsOf(trust, folder)
}

/** Commands that print what other programs read. */
function printingCommands(program: Command, setAnswer: (answer: Answer) => void): void {
  const print = (stdout: string): void => setAnswer({ stdout, stderr: "", exit: 0 })
  program
    .command("completion")
    .description("print the completion script of a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText("after", "\nExample:\n  source <(verifier completion bash)")
    .action((shell: Shell) => print(completionScript(program, shell)))
  program
    .command("manual")
    .description("print the manual page")
    .addHelpText("after", "\nExample:\n  verifier manual | man -l -")
    .action(() => print(manualPage(program, VERSION)))
  program
    .command("json-schema")
    .description("print the JSON Schema of what --json prints")
    .addHelpText("after", "\nExample:\n  verifier json-schema > verifier.schema.json")
    .action(async () => {
      const { JSON_SCHEMA } = await import("./output-schema.ts")
      print(printJson(JSON_SCHEMA))
    })
}

/** Options of a verification as Commander gives them. */
type RootOptions = VerifyOptions &
  ExpectationOptions &
  Readonly<Partial<Record<OutputFormat, true>>> & { readonly strictList?: string }

const FORMATS = ["table", "csv", "quiet"] as const
const FORMAT_HELP: Readonly<Record<OutputFormat, string>> = {
  table: "print one line for each document; several documents are printed so",
  csv: "print one CSV row for each document",
  quiet: "print the verdict alone",
}

/** What the options ask for; those that only Commander parses are apart. */
function verificationOf(documents: readonly string[], given: RootOptions): Verification {
  const {
    table: _,
    csv: __,
    quiet: ___,
    strictList,
    trust,
    allowUnanchored,
    showEvidenceSummary,
    strict,
    ...rest
  } = given
  const { json, ndjson, complete, budgets, ascii, ...expectations } = rest
  const options = { trust, allowUnanchored, showEvidenceSummary, strict, json, ndjson, complete, budgets, ascii }
  const format = FORMATS.find(name => given[name] === true)
  const more = {
    ...(format === undefined ? {} : { format }),
    ...(strictList === undefined ? {} : { strictList }),
    ...(Object.keys(expectations).length === 0 ? {} : { expectations }),
  }
  return Object.keys(more).length === 0 ? { documents, options } : { documents, options, more }
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

/** What `trust show` and `trust add` take. */
const TRUST_DOCUMENT = "a file, - or an https address; a bare https://host means its well-known trust document"

/** The commands under `verifier trust`. */
function trustCommands(program: Command, style: Style, setAnswer: (answer: Answer) => void): void {
  const trust = program
    .command("trust")
    .description("the services whose records you trust")
    .addHelpText("after", TRUST_HELP)
  trust
    .command("show")
    .description("show the fingerprints of a trust document, and pin nothing")
    .argument("<document>", TRUST_DOCUMENT)
    .addHelpText("after", TRUST_HELP)
    .action(async (argument: string) => setAnswer(await showTrust(argument, style)))
  trust
    .command("add")
    .description("pin a service's trust document, from a file or its address")
    .argument("<document>", TRUST_DOCUMENT)
    .option("--replace", "replace another document of the same service", false)
    .addHelpText("after", TRUST_HELP)
    .action(async (argument: string, { replace }: { readonly replace: boolean }) => {
      setAnswer(await addTrust(argument, replace, folder(), style))
    })
  trust
    .command("list")
    .description("list the pinned trust documents")
    .addHelpText("after", "\nExample:\n  verifier trust list")
    .action(() => setAnswer(listTrust(folder(), style)))
  trust
    .command("remove")
    .description("remove the trust document of a service")
    .argument("<service>", "its name as trust list shows it")
    .addHelpText("after", TRUST_HELP)
    .action((service: string) => setAnswer(removeTrust(service, folder(), style)))
}

/** Whether one of these options was given. */
const areGiven = (options: Readonly<Record<string, unknown>>): boolean =>
  Object.values(options).some(value => value !== undefined && value !== false)

/** Of two values one would be left out without a word, and an empty one is a variable of a script that is not set. */
const onlyValue =
  (flag: string) =>
  (value: string, before: string | undefined): string => {
    const [name = flag] = flag.split(" ")
    if (before !== undefined) throw new InputError(`${name} is given twice: a record is compared with one value.`)
    if (value === "") throw new InputError(`${name} is given an empty value.`)
    return value
  }

/** Two lists are one. */
const joined = (value: string, before: string | undefined): string =>
  before === undefined ? value : `${before},${value}`

/** Each of these once, but for the policies that an export was decided by. */
function addExpectations(program: Command): void {
  for (const [flag, description] of EXPECTATION_FLAGS)
    program.addOption(new Option(flag, description).argParser(onlyValue(flag)))
  program.addOption(
    new Option(...DECIDED_BY).argParser((file: string, before?: readonly string[]) => [...(before ?? []), file]),
  )
  for (const [flag, description] of DECISION_SWITCHES) program.addOption(new Option(flag, description))
}

const appended = (value: string, before: readonly string[]): readonly string[] => [...before, value]
