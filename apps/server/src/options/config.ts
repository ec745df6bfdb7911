/** The configuration of the server: read from the command line and the environment, and checked before anything starts. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import { issueReason } from "@runseal/core/artifacts/schema-issue"
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { Command, CommanderError, Option } from "commander"
import * as v from "valibot"
import { commandLineError } from "./command-line-errors.ts"
import { addCommands, type Commands } from "./commands.ts"
import { nameInFile, readConfigFile } from "./config-file.ts"
import { databaseServerOf } from "./database-options.ts"
import { PUBLIC_ONLY } from "./delivery-networks.ts"
import { isLoopback } from "./operator-url.ts"
import { rekorOf } from "./rekor-options.ts"
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
