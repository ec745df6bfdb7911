/**
 * Every option of the server, in the order of `--help` and of the table in docs/operations.md, which are both made of these rows.
 * The variable of `--port` is RUNSEAL_PORT, and so on.
 */

import { MCD_MODES, MCD_SCOPES } from "@runseal/core/vocabulary/decision-codes"
import { REGION_PATTERN } from "@runseal/core/vocabulary/scalars"
import { adminNameSchema } from "@runseal/core/wire/key-requests"
import * as v from "valibot"
import { DATABASE_OPTIONS } from "./database-options.ts"
import { IDENTITY_OPTIONS } from "./identity-options.ts"
import { SHARD_OPTIONS } from "./shard-options.ts"
import { SIGN_IN_OPTIONS } from "./sign-in-options.ts"
import {
  DELIVERY_NETWORKS,
  FOLDER,
  HOST_NAME,
  integer,
  LISTEN_HOST,
  MCD_DISABLED,
  MCD_SCOPE,
  ON_OFF,
  type OptionText,
  option,
  PUBLIC_URL,
  RATE,
  REKOR_URL,
  REVIEWER_URL,
  SIGNER_URL,
  TSA_URL,
  WITNESSES,
  word,
} from "./values.ts"
import { MAX_WITNESSES } from "./witness.ts"

// Options of what is decided on a run, and whether that stops it.

/** Whether what is decided on a run stops it. */
const MODES = ["enforce", "observe"] as const

/** Who may ask for what is only observed. */
const ALLOW_OBSERVE = ["keys", "everybody", "nobody"] as const

/** Who is shown what the policy says of a refusal. */
const APPROVALS = ["off", "on"] as const
const EXPLAIN = ["owner", "admins"] as const

const POLICY_OPTIONS = {
  mode: option(
    "--mode <mode>",
    "whether a refusal stops the run: `enforce`, or `observe`, which decides and seals the same, answers 200 and [marks the record](concepts.md#observed-run)",
    v.optional(v.picklist(MODES), "enforce"),
    { choices: MODES },
  ),
  allowObserve: option(
    "--allow-observe <who>",
    "who may ask for a run or permit that is [only observed](concepts.md#observed-run): `keys` made with `observe` (and everybody in open mode), `everybody`, or `nobody`; with `--mode observe` every run is one",
    v.optional(v.picklist(ALLOW_OBSERVE), "keys"),
    { choices: ALLOW_OBSERVE },
  ),
  explain: option(
    "--explain <who>",
    "who is shown how a rule that refused is described and what it read ([explanation](api.md#explanation)): `owner` (the key that made the run, auditors and admins), or `admins`, where an agent could find out the limits of rules by trying",
    v.optional(v.picklist(EXPLAIN), "owner"),
    { choices: EXPLAIN },
  ),
  approvals: option(
    "--approvals <mode>",
    "whether a policy may have rules that [require an approval](policy-and-review.md#rules-that-require-an-approval): with `off` such a policy does not load",
    v.optional(v.picklist(APPROVALS), "off"),
    { choices: APPROVALS },
  ),
  approvePolicy: option(
    "--approve-policy <mode>",
    "whether another admin has to [confirm a policy](policy-and-review.md#a-policy-that-another-admin-confirms) before it is in force",
    v.optional(v.picklist(APPROVALS), "off"),
    { choices: APPROVALS },
  ),
  policyFile: option("--policy <file>", "[policy document](policy-and-review.md), JSON", v.optional(v.string()), {
    otherwise: "the built-in policy that admits every run",
  }),
  mcdMode: option(
    "--mcd-mode <mode>",
    "what a [signature match](policy-and-review.md#the-signature-scan) does: `enforce` denies the run, `observe` records a finding; part of `policy_hash`",
    v.optional(v.picklist(MCD_MODES), "enforce"),
    { choices: MCD_MODES },
  ),
  mcdScope: option(
    "--mcd-scope <parts>",
    "what the signature scan searches, with commas between: `payload`, `ai_output`, `declared` (the route and the declared sections); part of `policy_hash`",
    v.optional(MCD_SCOPE, MCD_SCOPES.join(",")),
  ),
  mcdDisable: option(
    "--mcd-disable <id>",
    "signature that is not searched for, such as `MCD-FE-005`; repeatable, the variable holds several with spaces between; part of `policy_hash`",
    v.optional(MCD_DISABLED),
    { repeatable: true },
  ),
}

// The options of the clock: how far it may be from what it should show.

/** Far below the 600 s within which a record must be logged. */
const MAX_CLOCK_STEP_SECONDS = 300
/** Ten years. */
const MAX_CLOCK_GAP_SECONDS = 315_360_000

const CLOCK_OPTIONS = {
  maxClockStep: option(
    "--max-clock-step <seconds>",
    "how far [the clock](when-it-is-down.md#the-clock) may be from what the machine's uptime says since the last batch, and behind the log, in seconds, at most 300",
    v.optional(integer(1, MAX_CLOCK_STEP_SECONDS), "60"),
  ),
  maxClockGap: option(
    "--max-clock-gap <seconds>",
    "how far [the clock](when-it-is-down.md#the-clock) may be ahead of the log at a start, in seconds, at most 315,360,000",
    v.optional(integer(60, MAX_CLOCK_GAP_SECONDS), "2592000"),
  ),
} as const

export const REVIEWER_KINDS = ["none", "builtin", "openai", "anthropic"] as const
export type ReviewerKind = (typeof REVIEWER_KINDS)[number]
/** When a request is answered: once its record is durable here, or once the outside log holds it too. */
export const ANCHOR_MODES = ["async", "sync"] as const
export type AnchorMode = (typeof ANCHOR_MODES)[number]
const ANCHORS = ["embedded", "rekor"] as const
const REKOR_VERSIONS = ["1", "2"] as const
/** Headers in which proxies write whom they were called from. */
const PROXY_HEADERS = ["x-forwarded-for", "forwarded"] as const
const LOG_LEVELS = ["silent", "error", "warn", "info", "debug"] as const

export const DEFAULT_ORIGIN = "runseal.local"
const PORT = integer(0, 65_535)
const TOKENS = Number.MAX_SAFE_INTEGER
/** A year: longer windows would outlive any budget period we know of. */
const MAX_WINDOW_SECONDS = 31_622_400
/** The longest idle time of a load balancer that we know of is 4,000 s. */
const MAX_KEEP_ALIVE_SECONDS = 7_200
/** More proxies than any deployment has: a larger number is a mistake. */
const MAX_TRUSTED_HOPS = 16
/** Deadline of a review, its time in the queue included. It must stay far below the 600 s in which a record must be logged. */
const MAX_REVIEW_TIMEOUT_MS = 120_000
/** More would not help: a Rekor log works on one entry after the other. */
const MAX_IN_FLIGHT = 16

export const OPTIONS = v.object({
  configFile: option(
    "--config <file>",
    "[configuration file](#configuration-file) in YAML: options by the names of their flags",
    v.optional(v.string()),
    { otherwise: "no file" },
  ),
  host: option("--host <host>", "address to listen on", v.optional(LISTEN_HOST, "127.0.0.1")),
  port: option("--port <port>", "port to listen on; 0 lets the system choose", v.optional(PORT, "8080")),
  dataDir: option("--data-dir <folder>", "folder of the embedded database and the keys", v.optional(FOLDER, "data")),
  keysDir: option(
    "--keys-dir <folder>",
    "folder of the signing keys, shared by all processes of one database",
    v.optional(FOLDER),
    { otherwise: "`keys` in the data folder" },
  ),
  logOrigin: option(
    "--log-origin <host>",
    "host name of the transparency log, without port; it can never be changed",
    v.optional(HOST_NAME, DEFAULT_ORIGIN),
  ),
  ...DATABASE_OPTIONS,
  region: option(
    "--region <name>",
    "execution region recorded in every run",
    v.optional(word(REGION_PATTERN, "1 to 64 letters, digits, dots, dashes or underscores"), "local"),
  ),
  baseUrl: option(
    "--base-url <url>",
    "address under which callers reach this service, used in `GET /version`, in reports and in addresses of published bundles; without it, a report prints no address, and an answer names the one that its request was sent to",
    v.optional(PUBLIC_URL),
  ),
  ...SHARD_OPTIONS,
  ...POLICY_OPTIONS,
  runTokenBudget: option(
    "--run-token-budget <tokens>",
    "most tokens one run may declare",
    v.optional(integer(0, TOKENS), "1000000"),
  ),
  windowTokenBudget: option(
    "--window-token-budget <tokens>",
    "tokens of all runs of a tenant in one window; a run that reaches this sum is halted",
    v.optional(integer(1, TOKENS), "10000000"),
  ),
  windowSeconds: option(
    "--window-seconds <seconds>",
    "length of a budget window in seconds, at most 31,622,400; windows are aligned to the epoch",
    v.optional(integer(1, MAX_WINDOW_SECONDS), "86400"),
  ),
  ...CLOCK_OPTIONS,
  rateLimit: option("--rate-limit <requests>", "requests a minute that one key may make", v.optional(RATE, "100")),
  attestRateLimit: option(
    "--attest-rate-limit <requests>",
    "`POST /attest` requests a minute that one key, or one address in open mode, may make",
    v.optional(RATE, "30"),
  ),
  anonymousRateLimit: option(
    "--anonymous-rate-limit <requests>",
    "requests a minute that one address may make in open mode",
    v.optional(RATE),
    { otherwise: "the value of `--rate-limit`" },
  ),
  permits: option(
    "--permits <mode>",
    "whether `POST /permits` opens [permits](api.md#permits), which the service key signs in this process: it cannot be `on` with a remote signer",
    v.optional(v.picklist(ON_OFF)),
    { otherwise: "`on`, and `off` with `--signer-url`", choices: ON_OFF },
  ),
  permitRateLimit: option(
    "--permit-rate-limit <requests>",
    "closes of [permits](api.md#permits) a minute that one key may make; redemptions a minute that one address may make",
    v.optional(RATE, "600"),
  ),
  ...IDENTITY_OPTIONS,
  ...SIGN_IN_OPTIONS,
  trustedProxyHops: option(
    "--trust-proxy <hops>",
    "proxies [in front of the service](#in-front-of-it), at most 16: the caller is the address that far from the right of their header",
    v.optional(integer(0, MAX_TRUSTED_HOPS), "0"),
  ),
  proxyHeader: option(
    "--proxy-header <header>",
    "header in which those proxies write addresses, X-Forwarded-For or Forwarded (RFC 7239); the other one is ignored",
    v.optional(v.picklist(PROXY_HEADERS), "x-forwarded-for"),
    { choices: PROXY_HEADERS },
  ),
  keepAliveTimeout: option(
    "--keep-alive-timeout <seconds>",
    "how long an idle connection stays open; longer than [the proxy or load balancer](deployment.md#behind-a-load-balancer) in front keeps its own, at most 7,200",
    v.optional(integer(1, MAX_KEEP_ALIVE_SECONDS), "65"),
  ),
  aivp: option("--aivp <reviewer>", "reviewer of AI output", v.optional(v.picklist(REVIEWER_KINDS), "builtin"), {
    choices: REVIEWER_KINDS,
  }),
  aivpBaseUrl: option(
    "--aivp-base-url <url>",
    "address of the reviewer's API; its key is read from RUNSEAL_AIVP_API_KEY only",
    v.optional(REVIEWER_URL),
    { otherwise: "the provider's" },
  ),
  aivpModel: option(
    "--aivp-model <name>",
    "model of the reviewer; needed with `openai` and `anthropic`",
    v.optional(v.string()),
  ),
  aivpTimeout: option(
    "--aivp-timeout <ms>",
    "deadline of one review with all its retries, in milliseconds, at most 120,000",
    v.optional(integer(1, MAX_REVIEW_TIMEOUT_MS), "20000"),
  ),
  witnesses: option(
    "--witness <witness>",
    "ask this [witness](#witnesses) to cosign the log's checkpoints: its verifier key, `=`, its address; repeatable, the variable holds several with spaces between",
    v.optional(WITNESSES),
    { repeatable: true },
  ),
  witnessesNeeded: option(
    "--witnesses-needed <count>",
    "number of cosignatures that make a checkpoint witnessed",
    v.optional(integer(1, MAX_WITNESSES)),
    { otherwise: "more than half of the witnesses" },
  ),
  anchor: option(
    "--anchor <log>",
    "logs that get every entry: the embedded log alone, or a [Rekor log](#a-rekor-log-besides) too",
    v.optional(v.picklist(ANCHORS), "embedded"),
    { choices: ANCHORS },
  ),
  anchorMode: option(
    "--anchor-mode <mode>",
    "when to answer a request: once its record is sealed, or once the Rekor log holds it too",
    v.optional(v.picklist(ANCHOR_MODES)),
    { otherwise: "`async`", choices: ANCHOR_MODES },
  ),
  rekorUrl: option("--rekor-url <url>", "address of the Rekor log", v.optional(REKOR_URL), {
    otherwise: "public Rekor",
  }),
  rekorKey: option(
    "--rekor-key <file>",
    "public key of the Rekor log in PEM, P-256 or with API v2 also Ed25519",
    v.optional(v.string()),
    { otherwise: "that of public Rekor, which is built in" },
  ),
  rekorOrigin: option("--rekor-origin <host>", "host name in the checkpoints of the Rekor log", v.optional(HOST_NAME), {
    otherwise: "that of its address",
  }),
  rekorInFlight: option(
    "--rekor-in-flight <entries>",
    "entries sent to the Rekor log at one time, at most 16; with more than 1 their order there may differ",
    v.optional(integer(1, MAX_IN_FLIGHT)),
    { otherwise: "`1`" },
  ),
  rekorVersion: option(
    "--rekor-version <version>",
    "API version of the Rekor log; a log of version `2` signs no time, so it needs a [timestamp authority](#rekor-v2-and-timestamps)",
    v.optional(v.picklist(REKOR_VERSIONS)),
    { otherwise: "`1`", choices: REKOR_VERSIONS },
  ),
  tsaUrl: option(
    "--tsa-url <url>",
    "address of the timestamp authority (RFC 3161), with API v2 of Rekor",
    v.optional(TSA_URL),
  ),
  tsaChain: option(
    "--tsa-chain <file>",
    "certificates of the timestamp authority in PEM: its own, then those above it, the root last",
    v.optional(v.string()),
  ),
  deliveryNetworks: option(
    "--delivery-network <network>",
    "network, such as `10.0.0.0/8`, in which [receivers of events](events.md#receivers) may be besides public addresses; syslog may go there without TLS, and webhooks too where it is of this machine, such as `127.0.0.1`; repeatable, the variable holds several with spaces between",
    v.optional(DELIVERY_NETWORKS),
    { otherwise: "public addresses only", repeatable: true },
  ),
  signerUrl: option(
    "--signer-url <url>",
    "address of the signer that holds the [service key](keys-and-backups.md#a-service-key-in-a-kms): a key version of a KMS over HTTP",
    v.optional(SIGNER_URL),
    { otherwise: "the key is in the keys folder" },
  ),
  signerTokenFile: option(
    "--signer-token-file <file>",
    "file of the signer's bearer token, read for each batch",
    v.optional(v.string()),
    { otherwise: "no token" },
  ),
  metricsPort: option(
    "--metrics-port <port>",
    "port of [`GET /metrics`](#metrics) for Prometheus; 0 lets the system choose",
    v.optional(PORT),
    { otherwise: "no metrics" },
  ),
  metricsHost: option(
    "--metrics-host <host>",
    "address the metrics are served on",
    v.optional(LISTEN_HOST, "127.0.0.1"),
  ),
  logLevel: option("--log-level <level>", "what the process log holds", v.optional(v.picklist(LOG_LEVELS), "info"), {
    choices: LOG_LEVELS,
  }),
  accessLog: option(
    "--access-log [on]",
    "a line of the process log for [each answer](#access-log): request id, method, route, status, time, key",
    v.optional(v.picklist(ON_OFF), "off"),
    { choices: ON_OFF },
  ),
  mintAdminKey: option(
    "--mint-admin-key <name>",
    "make an admin key of this name in the database, print its secret once and exit without starting the server",
    v.optional(adminNameSchema),
    { once: true },
  ),
  secretFile: option(
    "--secret-file <file>",
    "with `--mint-admin-key`: write the secret to this new file, readable for its owner alone, in place of printing it",
    v.optional(v.string()),
    { once: true },
  ),
})

/** The values of all options: those that were given, and the fallbacks of the others. */
export type OptionValues = v.InferOutput<typeof OPTIONS>

/** A signer that holds the service key, as the operator's options name it. */
export type RemoteSigner = {
  /** Address of the key version, without a final slash. */
  readonly url: string
  /** File of the bearer token; read for each call, since such tokens are renewed. */
  readonly tokenFile?: string | undefined
}

/** One option: its documentation, its names and its default. */
export type OptionRow = OptionText & {
  /** Its name in `OptionValues`. */
  readonly name: string
  /** The default, as text. */
  readonly fallback: string | undefined
  /** The environment variable that is read when the flag is not given. */
  readonly variable: string | undefined
}

/** A flag without the value that follows it. */
export const flagOf = (name: keyof OptionValues): string => flagIn(v.getMetadata(OPTIONS.entries[name]))
export const flagIn = ({ flag }: Pick<OptionText, "flag">): string => flag.replace(/ .*/, "")

/** All options, in their order. */
export const OPTION_ROWS: readonly OptionRow[] = Object.entries(OPTIONS.entries).map(([name, schema]) => {
  const text: OptionText = v.getMetadata(schema)
  const variable = flagIn(text).replace(/^--/, "RUNSEAL_").replaceAll("-", "_").toUpperCase()
  return { ...text, name, fallback: v.getDefault(schema), variable: text.once ? undefined : variable }
})

/** Plain text of a row's Markdown. */
export const plainText = (markdown: string): string =>
  markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "")
