/** Options of the server: what they mean, their units and defaults, and what is refused at start. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import { issueText } from "@runseal/core/artifacts/schema-issue"
import { REGION_PATTERN } from "@runseal/core/vocabulary/scalars"
import { adminNameSchema } from "@runseal/core/wire/keys"
import { Command, CommanderError, Option } from "commander"
import * as v from "valibot"
import type { RemoteSigner } from "./anchor/remote-signer.ts"
import { addHeadsCommands, type HeadsCommand } from "./heads-options.ts"
import { addKeysCommands, type KeysCommand, signerAddress } from "./keys-options.ts"
import { OPTION_ROWS, REVIEWER_KINDS, type ReviewerKind } from "./option-rows.ts"
import { HOST_NAME, integer, type Options, url, word } from "./option-values.ts"
import type { AnchorMode } from "./outbox/outside-log.ts"
import { rekorOptions } from "./rekor-options.ts"
import { StartupError } from "./startup-error.ts"
import { MAX_WITNESSES, parseWitness, type Witness } from "./witnessing/witness.ts"

export const SERVICE_NAME = "runseal"
export const SERVICE_VERSION = "1.0.0"

export type Config = {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly dataDir: string
  readonly keysDir: string
  /** Host name of the log, chosen once. */
  readonly logOrigin: string
  readonly databaseUrl?: string
  readonly region: string
  /** Address under which callers reach the service, without a final slash. */
  readonly baseUrl?: string
  readonly policyFile?: string
  readonly runTokenBudget: number
  readonly windowTokenBudget: number
  readonly windowSeconds: number
  /** Requests a minute of one key. */
  readonly rateLimit: number
  /** `POST /attest` a minute of one key, or of one address in open mode. */
  readonly attestRateLimit: number
  /** Requests a minute of one address in open mode. */
  readonly anonymousRateLimit: number
  /** Proxies in front whose X-Forwarded-For is believed; 0 believes no header. */
  readonly trustedProxyHops: number
  readonly reviewer: {
    readonly kind: ReviewerKind
    readonly baseUrl?: string
    readonly model?: string
    readonly apiKey?: string
    readonly timeoutMs: number
  }
  /** Who is asked to cosign the log's checkpoints; no two of one name or key. */
  readonly witnesses: readonly Witness[]
  /** Cosignatures with which a checkpoint counts as witnessed. */
  readonly witnessesNeeded: number
  /** The Rekor log that also gets every entry; absent: entries are in the embedded log alone. */
  readonly rekor?: RekorOptions
  /** Port of the metrics; absent: none. 0 lets the system choose. */
  readonly metricsPort?: number
  readonly metricsHost: string
  readonly logLevel: string
  /** Where the service key is kept; absent: in the keys folder. */
  readonly signer?: RemoteSigner
  /** File of the bearer token of any signer. */
  readonly signerTokenFile?: string
  /** Make an admin key of this name instead of starting. */
  readonly mintAdminKey?: string
  /** Look at the signing keys, or change them, instead of starting. */
  readonly keysCommand?: KeysCommand
  /** Look at the folders of heads, or forget one, instead of starting. */
  readonly headsCommand?: HeadsCommand
}

export type RekorOptions = {
  readonly url: URL
  /** Of the log's public key; absent: public Rekor's. */
  readonly keyFile?: string
  /** Host name in the log's checkpoints. */
  readonly host: string
  /** Entries sent to it at one time. */
  readonly inFlight: number
  readonly mode: AnchorMode
  /** The timestamp authority, and the file of its certificates. Present: the log has API v2. */
  readonly timestamps?: { readonly url: URL; readonly chainFile: string }
}

/** Variables whose values are secrets, or hold one. */
export const SECRET_VARIABLES: readonly string[] = ["RUNSEAL_AIVP_API_KEY", "RUNSEAL_DATABASE_URL"]

type Commands = Pick<Config, "keysCommand" | "headsCommand">

/** The command with every option; `--help` explains each with unit and default. @param take given what follows `keys` or `heads` */
function command(take: (found: Commands) => void): Command {
  const program = new Command("runseal")
    .description("Run attestation service: executes, gates, seals and anchors runs.")
    .configureOutput({ writeErr: () => undefined })
    .helpOption("--help", "show this help")
    .helpCommand(false)
    .exitOverride()
    .action(() => undefined)
  for (const { flag, env, text, fallback, choices, repeatable } of OPTION_ROWS) {
    const option = new Option(flag, text)
    if (env !== undefined) option.env(env)
    if (fallback !== undefined) option.default(fallback)
    if (choices !== undefined) option.choices([...choices])
    if (repeatable)
      option.argParser((value: string, before?: string) => (before === undefined ? value : `${before} ${value}`))
    program.addOption(option)
  }
  addKeysCommands(program, keysCommand => take({ keysCommand }))
  addHeadsCommands(program, headsCommand => take({ headsCommand }))
  return program.version(SERVICE_VERSION)
}

/** Why reading options ended without a configuration: help or version was asked for and has been printed. */
export type Ended = { readonly ended: true }

/**
 * Reads flags, then RUNSEAL_* variables, then defaults.
 * @throws StartupError with one sentence for an option that cannot be used
 */
export function readConfig(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): Config | Ended {
  let commands: Commands = {}
  const program = command(found => {
    commands = found
  })
  try {
    program.parse([...argv], { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { ended: true }
    throw new StartupError(withoutValues(error))
  }
  const config = fromOptions(program.opts<Record<string, string | undefined>>(), env)
  return { ...config, ...commands }
}

/** What was wrong with the words of the command line, without what may be a secret in the wrong place. */
function withoutValues({ code, message }: CommanderError): string {
  if (code === "commander.excessArguments" || code === "commander.unknownCommand")
    return "nothing but options and keys list, rotate or revoke is accepted, and a further word was given"
  if (code === "commander.help") return "keys needs list, rotate or revoke; heads needs list or forget"
  const [sentence = ""] = message.replace(/^error: /, "").split("\n", 1)
  if (code === "commander.unknownOption") return sentence.replace(/=.*$/s, "'")
  return sentence
    .replace(/^command-argument value '.*' is invalid for argument/s, "another word was given than is known as")
    .replace(/ argument '.*' is invalid/s, " was given a value that is none of its choices")
}

/** The address that `GET /version`, the API description and every published bundle name: whatever it holds, all may read. */
function publicUrl(options: Options): string | undefined {
  const text = url(options, "baseUrl", "--base-url", ["http:", "https:"])
  if (text === undefined) return undefined
  const { username, password, search, hash } = new URL(text)
  if (`${username}${password}${search}${hash}` !== "" || /[?#]/.test(text))
    throw new StartupError("--base-url must be an address without credentials, query and fragment: anybody reads it")
  return text
}

const HOST = [/^[^\s]{1,253}$/, "a host name or address"] as const
const MAX_PORT = 65_535
/** A year: longer windows would outlive any budget period we know of. */
const MAX_WINDOW_SECONDS = 31_622_400
/** Requests a minute beyond what any process can answer. */
const MAX_RATE_LIMIT = 1_000_000_000
/** More proxies than anybody stands behind: a larger number is a mistake. */
const MAX_TRUSTED_HOPS = 16
/** Review deadline plus queue must stay far below the 600 s in which a record must be logged. */
const MAX_REVIEW_TIMEOUT_MS = 120_000

function fromOptions(options: Options, env: Readonly<Record<string, string | undefined>>): Config {
  const dataDir = options.dataDir ?? "data"
  const databaseUrl = url(options, "databaseUrl", "--database-url", ["postgres:", "postgresql:"])
  const baseUrl = publicUrl(options)
  return {
    host: word(options, "host", "--host", ...HOST),
    port: integer(options, "port", "--port", 0, MAX_PORT),
    dataDir,
    keysDir: options.keysDir ?? join(dataDir, "keys"),
    logOrigin: word(options, "logOrigin", "--log-origin", HOST_NAME, "a lower-case host name without port"),
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    region: word(options, "region", "--region", REGION_PATTERN, "1 to 64 letters, digits, dots, dashes or underscores"),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(options.policy === undefined ? {} : { policyFile: options.policy }),
    runTokenBudget: integer(options, "runTokenBudget", "--run-token-budget", 0, Number.MAX_SAFE_INTEGER),
    windowTokenBudget: integer(options, "windowTokenBudget", "--window-token-budget", 1, Number.MAX_SAFE_INTEGER),
    windowSeconds: integer(options, "windowSeconds", "--window-seconds", 1, MAX_WINDOW_SECONDS),
    ...limitOptions(options),
    reviewer: reviewerOptions(options, env),
    ...witnessOptions(options),
    ...rekorOptions(options),
    ...(options.metricsPort === undefined
      ? {}
      : { metricsPort: integer(options, "metricsPort", "--metrics-port", 0, MAX_PORT) }),
    metricsHost: word(options, "metricsHost", "--metrics-host", ...HOST),
    ...signerOptions(options),
    logLevel: options.logLevel ?? "info",
    ...(options.mintAdminKey === undefined ? {} : { mintAdminKey: keyName(options.mintAdminKey) }),
  }
}

function keyName(text: string): string {
  const parsed = v.safeParse(adminNameSchema, text, FIRST_ISSUE)
  if (!parsed.success) throw new StartupError(`--mint-admin-key ${issueText(parsed.issues[0])}`)
  return parsed.output
}

function signerOptions(options: Options): Pick<Config, "signer" | "signerTokenFile"> {
  const { signerUrl, signerTokenFile } = options
  const access = signerTokenFile === undefined ? {} : { tokenFile: signerTokenFile }
  return {
    ...(signerUrl === undefined ? {} : { signer: { url: signerAddress(signerUrl, "--signer-url"), ...access } }),
    ...(signerTokenFile === undefined ? {} : { signerTokenFile }),
  }
}

function limitOptions(
  options: Options,
): Pick<Config, "rateLimit" | "attestRateLimit" | "anonymousRateLimit" | "trustedProxyHops"> {
  const limit = (name: string, flag: string): number => integer(options, name, flag, 1, MAX_RATE_LIMIT)
  const rateLimit = limit("rateLimit", "--rate-limit")
  return {
    rateLimit,
    attestRateLimit: limit("attestRateLimit", "--attest-rate-limit"),
    anonymousRateLimit:
      options.anonymousRateLimit === undefined ? rateLimit : limit("anonymousRateLimit", "--anonymous-rate-limit"),
    trustedProxyHops: integer(options, "trustProxy", "--trust-proxy", 0, MAX_TRUSTED_HOPS),
  }
}

function reviewerOptions(options: Options, env: Readonly<Record<string, string | undefined>>): Config["reviewer"] {
  const kind = REVIEWER_KINDS.find(name => name === options.aivp) ?? "builtin"
  const baseUrl = url(options, "aivpBaseUrl", "--aivp-base-url", ["http:", "https:"])
  const model = options.aivpModel
  const apiKey = env.RUNSEAL_AIVP_API_KEY
  if ((kind === "openai" || kind === "anthropic") && model === undefined)
    throw new StartupError(`--aivp ${kind} needs --aivp-model`)
  return {
    kind,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(model === undefined ? {} : { model }),
    ...(apiKey === undefined || apiKey === "" ? {} : { apiKey }),
    timeoutMs: integer(options, "aivpTimeout", "--aivp-timeout", 1, MAX_REVIEW_TIMEOUT_MS),
  }
}

function witnessOptions(options: Options): Pick<Config, "witnesses" | "witnessesNeeded"> {
  const witnesses = (options.witness ?? "")
    .split(/\s+/)
    .filter(text => text !== "")
    .map(witnessOf)
  for (const part of ["name", "publicKey"] as const)
    if (new Set(witnesses.map(({ key }) => String(key[part]))).size < witnesses.length)
      throw new StartupError("--witness: two witnesses have the same name or key")
  if (witnesses.length > MAX_WITNESSES) throw new StartupError(`--witness may be given ${MAX_WITNESSES} times at most`)
  const most = witnesses.length
  // More than half: any two checkpoints that are witnessed then have a witness in common.
  if (options.witnessesNeeded === undefined) return { witnesses, witnessesNeeded: Math.floor(most / 2) + 1 }
  if (most === 0) throw new StartupError("--witnesses-needed needs --witness")
  return { witnesses, witnessesNeeded: integer(options, "witnessesNeeded", "--witnesses-needed", 1, most) }
}

function witnessOf(text: string): Witness {
  const witness = parseWitness(text)
  if (witness === undefined)
    throw new StartupError(
      "--witness must be the cosignature key of a witness (Ed25519 or ML-DSA-44), =, and its https address (http on this machine only)",
    )
  return witness
}

/** Text of the policy file; undefined when the built-in policy is in force. */
export function readPolicyText(config: Config): string | undefined {
  if (config.policyFile === undefined) return undefined
  try {
    return readFileSync(config.policyFile, "utf8")
  } catch {
    throw new StartupError(`--policy ${config.policyFile} cannot be read`)
  }
}
