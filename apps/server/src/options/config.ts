/** The configuration of the server: read from the command line and the environment, and checked before anything starts. */

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import { issueReason } from "@runseal/core/artifacts/schema-issue"
import { nearestWord } from "@runseal/core/presentation/nearest-word"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { Command, CommanderError, Option } from "commander"
import * as v from "valibot"
import { parseDocument } from "yaml"
import { addCommands, type Commands } from "./commands.ts"
import { databaseServerOf } from "./database-options.ts"
import { PUBLIC_ONLY } from "./delivery-networks.ts"
import { endUserOptionsOf, identityProviderOf } from "./identity-options.ts"
import { isLoopback } from "./operator-url.ts"
import { rekorOf } from "./rekor-options.ts"
import { signInOptionsOf } from "./sign-in-options.ts"
import { StartupError } from "./startup-error.ts"
import {
  DEFAULT_ORIGIN,
  flagIn,
  OPTION_ROWS,
  OPTIONS,
  type OptionRow,
  type OptionValues,
  plainText,
  type RemoteSigner,
  type ReviewerKind,
} from "./table.ts"

export const SERVICE_NAME = "runseal"
export const SERVICE_VERSION = "1.0.0"

/** The values of all options, and the command to run instead of a start, if one was given. */
export type Config = ReturnType<typeof configOf> & Commands

type Environment = Readonly<Record<string, string | undefined>>

/** The command line parser with every option; `--help` explains each with unit and default. @param take receives the command, if one was given */
function command(take: (found: Commands) => void): Command {
  const program = new Command("runseal")
    .description("Run attestation service: gates, checks, seals and anchors runs.")
    .configureOutput({ writeErr: () => undefined })
    .helpOption("-h, --help", "show this help")
    .helpCommand(false)
    .exitOverride()
    .action(() => undefined)
  for (const { flag, help, variable, fallback, otherwise, choices, repeatable } of OPTION_ROWS) {
    const option = new Option(flag, plainText(otherwise === undefined ? help : `${help} (default: ${otherwise})`))
    if (variable !== undefined) option.env(variable)
    if (fallback !== undefined) option.default(fallback)
    if (choices !== undefined) option.choices(choices)
    // The value may be left out.
    if (option.optional) option.preset("on")
    if (repeatable)
      option.argParser((value: string, before?: string) => (before === undefined ? value : `${before} ${value}`))
    program.addOption(option)
  }
  addCommands(program, take)
  return program.version(SERVICE_VERSION)
}

/** Returned in place of a configuration after `--help` or `--version` was printed. */
export type Ended = { readonly ended: true }

/**
 * Reads the options: a flag overrides its RUNSEAL_* variable, which overrides the file of `--config`, which overrides the default.
 * @throws StartupError with one sentence for an option that cannot be used
 */
export function readConfig(argv: readonly string[], env: Environment): Config | Ended {
  let commands: Commands = {}
  const program = command(found => {
    commands = found
  })
  try {
    program.parse([...argv], { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { ended: true }
    throw new StartupError(commandLineError(error, argv, program))
  }
  return { ...configOf(valuesOf(program), env), ...commands }
}

/** @param program that has parsed the command line */
function valuesOf(program: Command): OptionValues {
  const texts: Readonly<Record<string, unknown>> = program.opts()
  const attributeOf = ({ flag }: OptionRow): string => new Option(flag).attributeName()
  const file = typeof texts.config === "string" ? texts.config : undefined
  const inFile = file === undefined ? undefined : readConfigFile(file)
  const sourceOf = (row: OptionRow): string => program.getOptionValueSource(attributeOf(row)) ?? ""
  const isFromFile = (row: OptionRow): boolean =>
    inFile?.has(row.name) === true && !["cli", "env"].includes(sourceOf(row))
  const given = OPTION_ROWS.map(
    row => [row.name, isFromFile(row) ? inFile?.get(row.name) : texts[attributeOf(row)]] as const,
  )
  const parsed = v.safeParse(OPTIONS, Object.fromEntries(given), FIRST_ISSUE)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  const row = OPTION_ROWS.find(({ name }) => name === issue.path?.[0].key)
  if (row === undefined) throw new Error("an issue of the options belongs to one of them")
  const variable = sourceOf(row) === "env" ? row.variable : undefined
  const place = isFromFile(row) ? `${nameInFile(row)} in ${file}` : (variable ?? flagIn(row))
  throw new StartupError(`${place} ${issueReason(issue)}`)
}

function configOf(options: OptionValues, env: Environment) {
  const { dataDir, rateLimit, signerUrl, signerTokenFile } = options
  const signer: RemoteSigner | undefined =
    signerUrl === undefined ? undefined : { url: signerUrl, tokenFile: signerTokenFile }
  return {
    ...options,
    keysDir: options.keysDir ?? join(dataDir, "keys"),
    anonymousRateLimit: options.anonymousRateLimit ?? rateLimit,
    /** Whether permits are opened. */
    permits: opensPermits(options),
    /** The PostgreSQL server; undefined: the embedded database. */
    database: databaseServerOf(options),
    /** The identity provider; undefined: none. */
    identityProvider: identityProviderOf(options),
    /** How requests name their end user; undefined: they name none. */
    endUsers: endUserOptionsOf(options),
    /** How people sign in with it; undefined: they do not. */
    signIn: signInOptionsOf(options, identityProviderOf(options), env.RUNSEAL_OIDC_CLIENT_SECRET || undefined),
    reviewer: reviewerOf(options, env),
    witnesses: options.witnesses ?? [],
    /** Cosignatures with which a checkpoint counts as witnessed. */
    witnessesNeeded: witnessesNeeded(options),
    /** The Rekor log that also gets every entry; undefined: entries are in the embedded log alone. */
    rekor: rekorOf(options),
    /** Where receivers of events may be. */
    deliveryNetworks: options.deliveryNetworks ?? PUBLIC_ONLY,
    /** The signer that holds the service key; undefined: the key is in the keys folder. */
    signer,
  }
}

/** A permit has to be signed before it can be given out, and by the key that this process holds. */
function opensPermits({ permits, signerUrl }: OptionValues): boolean {
  if (permits === "on" && signerUrl !== undefined)
    throw new StartupError(
      "--permits on cannot be used with --signer-url: permits are signed with a key in the keys folder",
    )
  return (permits ?? (signerUrl === undefined ? "on" : "off")) === "on"
}

/** The reviewer of AI output. */
export type ReviewerOptions = {
  readonly kind: ReviewerKind
  /** Without a final slash; undefined: the provider's own. */
  readonly baseUrl?: string | undefined
  readonly model?: string | undefined
  readonly apiKey?: string | undefined
  /** Of one review, its time in the queue and its retries included, in milliseconds. */
  readonly timeoutMs: number
}

function reviewerOf({ aivp, aivpBaseUrl, aivpModel, aivpTimeout }: OptionValues, env: Environment): ReviewerOptions {
  if ((aivp === "openai" || aivp === "anthropic") && aivpModel === undefined)
    throw new StartupError(`--aivp ${aivp} needs --aivp-model`)
  const apiKey = env.RUNSEAL_AIVP_API_KEY || undefined
  return { kind: aivp, baseUrl: aivpBaseUrl, model: aivpModel, apiKey, timeoutMs: aivpTimeout }
}

function witnessesNeeded({ witnesses = [], witnessesNeeded: needed }: OptionValues): number {
  const most = witnesses.length
  // More than half, so that any two witnessed checkpoints have a witness in common.
  if (needed === undefined) return Math.floor(most / 2) + 1
  if (most === 0) throw new StartupError("--witnesses-needed needs --witness")
  if (needed > most) throw new StartupError(`--witnesses-needed must be an integer from 1 to ${most}`)
  return needed
}

/**
 * A warning for a log with the default name where other machines use the service: readers tell logs apart by their names, and the name can
 * never be changed. Undefined on one machine, as for a trial.
 */
export function originWarning({ logOrigin, host, database, baseUrl }: Config): string | undefined {
  if (logOrigin !== DEFAULT_ORIGIN) return undefined
  if (database === undefined && baseUrl === undefined && isLoopback(host)) return undefined
  return `the log has the default name ${DEFAULT_ORIGIN}, as other logs have: give --log-origin a host name of yours before the first start; an existing log keeps its name`
}

/** Text of the policy file; undefined when the built-in policy is in force. */
export function readPolicyText({ policyFile }: Pick<Config, "policyFile">): string | undefined {
  if (policyFile === undefined) return undefined
  let bytes: Buffer
  try {
    bytes = readFileSync(policyFile)
  } catch {
    throw new StartupError(`--policy ${policyFile} cannot be read`)
  }
  const problem = savedProblem(bytes)
  if (problem !== undefined) throw new StartupError(`--policy ${policyFile}: ${problem}`)
  return Buffer.from(savedText(bytes)).toString("utf8")
}

// What the operator is shown for a command line that cannot be parsed: never a value that was given, which may be a secret in the wrong place.

/** One sentence. @param argv what was parsed; @param program with all options and commands */
function commandLineError({ code, message }: CommanderError, argv: readonly string[], program: Command): string {
  const group = program.commands.find(one => argv.includes(one.name()))?.name() ?? ""
  const commands = commandsOf(program, group)
  const [, similar] = /\n\(Did you mean (.*)\?\)$/.exec(message) ?? []
  switch (code) {
    case "commander.help":
      return `${group} needs ${commands.includes(" ") ? "one of its commands" : "its command"} ${commands}`
    case "commander.unknownCommand":
      return `${group} has no such command${similar === undefined ? "; it" : `: did you mean ${similar}? It`} has ${commands}`
    case "commander.excessArguments":
      return excessWord(message, commandsOf(program))
    case "commander.unknownOption": {
      const [, option = ""] = /^error: unknown option '([^=\n']*)/.exec(message) ?? []
      // The parser compares a word with its value, as in --prot=80.
      const nearest =
        similar ??
        nearestWord(
          option,
          program.options.flatMap(({ long }) => long ?? []),
        )
      return `unknown option '${option}'${nearest === undefined ? "" : `: did you mean ${nearest}?`}`
    }
    default:
      return withoutValue(message)
  }
}

const LIST = new Intl.ListFormat("en-GB", { type: "conjunction" })
/** The names of the commands below a command, or of the first ones. */
const commandsOf = ({ commands }: Command, group?: string): string =>
  LIST.format(
    (group === undefined ? commands : (commands.find(one => one.name() === group)?.commands ?? [])).map(one =>
      one.name(),
    ),
  )

/** @param commands the first ones */
function excessWord(message: string, commands: string): string {
  const [, name] = /^error: too many arguments for '([\w-]+)'/.exec(message) ?? []
  return name === undefined
    ? `a further word was given: there are only options and the commands ${commands}`
    : `${name} takes no further word`
}

/** The parser quotes values in these places; the last quote ends the value. */
const withoutValue = (message: string): string =>
  message
    .replace(/^error: /, "")
    .replace(/^command-argument value '.*' is invalid for argument/s, "a word was given that is no value of")
    .replace(/^option '[^']*' value '.*' from env '(\w+)' is invalid/s, "$1 has a value that is not one of its choices")
    .replace(/ argument '.*' is invalid/s, " was given a value that is not one of its choices")
    .replace(/\n.*/s, "")

// The file of `--config`: the options in YAML, by the names of their flags. Decision 0122.

/** Far more than all options take. */
const MAX_BYTES = 65_536

/** The name of an option in the file: its flag without dashes. */
const nameInFile = (row: OptionRow): string => flagIn(row).slice(2)

/** What a file may give: an action is given once, on the command line, and a file names no other file. */
const FILE_ROWS = OPTION_ROWS.filter(({ once, name }) => once === undefined && name !== "configFile")

/**
 * The texts of the options in a file, by the names of `OPTION_ROWS`. Its scalars are texts, as those of the command line are: the schemas of
 * the options parse them.
 * @throws StartupError when the file cannot be read, is no mapping in YAML, or has an unknown name; it quotes no value
 */
function readConfigFile(path: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const [key, value] of Object.entries(mappingIn(path, textOf(path)))) {
    const row = FILE_ROWS.find(known => nameInFile(known) === key)
    if (row === undefined) throw new StartupError(`--config ${path}: ${unknown(key)}; the options are ${KNOWN}`)
    values.set(row.name, textOfValue(path, row, value))
  }
  return values
}

const KNOWN = FILE_ROWS.map(nameInFile).join(", ")

/** A key in the form of an option is named in the error; any other may be a secret in the wrong place. */
const unknown = (key: string): string => (/^[a-z-]{1,40}$/.test(key) ? `unknown option ${key}` : "an unknown option")

function textOf(path: string): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch {
    throw new StartupError(`--config ${path} cannot be read`)
  }
  if (bytes.length > MAX_BYTES) throw new StartupError(`--config ${path} has more than ${MAX_BYTES} bytes`)
  const problem = savedProblem(bytes)
  if (problem !== undefined) throw new StartupError(`--config ${path}: ${problem}`)
  return Buffer.from(savedText(bytes)).toString("utf8")
}

function mappingIn(path: string, text: string): Readonly<Record<string, unknown>> {
  // The failsafe schema reads every scalar as a text: no number is rounded, and `no` is a region.
  const parsed = parseDocument(text, { schema: "failsafe", logLevel: "error" })
  const [problem] = [...parsed.errors, ...parsed.warnings]
  if (problem !== undefined)
    throw new StartupError(`--config ${path} is not valid YAML: line ${problem.linePos?.[0].line ?? 1}`)
  const value = plainValue(path, parsed)
  if (value === null || value === "") return {}
  if (!isObject(value)) throw new StartupError(`--config ${path} must be a mapping of options to values`)
  return value
}

function plainValue(path: string, parsed: ReturnType<typeof parseDocument>) {
  try {
    return parsed.toJS({ maxAliasCount: 0 })
  } catch {
    throw new StartupError(`--config ${path}: aliases are not accepted`)
  }
}

function textOfValue(path: string, row: OptionRow, value: unknown): string {
  if (value === null) return ""
  if (typeof value === "string") return value
  if (row.repeatable && Array.isArray(value) && value.every(one => typeof one === "string")) return value.join(" ")
  const many = row.repeatable ? "a value or a list of values" : "one value"
  throw new StartupError(`--config ${path}: ${nameInFile(row)} must be ${many}`)
}
