/** The options of the server as `--help` shows them. What is accepted is judged in config.ts. */

export const REVIEWER_KINDS = ["none", "builtin", "openai", "anthropic"] as const
export type ReviewerKind = (typeof REVIEWER_KINDS)[number]

type OptionRow = {
  readonly flag: string
  /** Absent for what is asked for once and must not stay set. */
  readonly env?: string
  readonly text: string
  readonly fallback?: string
  readonly choices?: readonly string[]
  /** May be given several times; its variable holds the values with spaces between them. */
  readonly repeatable?: true
}

/** Every option, in the order of `--help`. */
export const OPTION_ROWS: readonly OptionRow[] = [
  { flag: "--host <host>", env: "RUNSEAL_HOST", text: "address to listen on", fallback: "127.0.0.1" },
  { flag: "--port <port>", env: "RUNSEAL_PORT", text: "port to listen on; 0 lets the system choose", fallback: "8080" },
  {
    flag: "--data-dir <folder>",
    env: "RUNSEAL_DATA_DIR",
    text: "folder of the embedded database and the keys",
    fallback: "data",
  },
  {
    flag: "--keys-dir <folder>",
    env: "RUNSEAL_KEYS_DIR",
    text: "folder of the signing keys, shared by all processes of one database (default: keys in the data folder)",
  },
  {
    flag: "--log-origin <host>",
    env: "RUNSEAL_LOG_ORIGIN",
    text: "host name of the transparency log, without port; chosen once",
    fallback: "runseal.local",
  },
  {
    flag: "--database-url <url>",
    env: "RUNSEAL_DATABASE_URL",
    text: "postgres:// address; without it the embedded database is used",
  },
  { flag: "--region <name>", env: "RUNSEAL_REGION", text: "execution region recorded in every run", fallback: "local" },
  {
    flag: "--base-url <url>",
    env: "RUNSEAL_BASE_URL",
    text: "address under which callers reach this service: in GET /version and in addresses of published bundles",
  },
  {
    flag: "--policy <file>",
    env: "RUNSEAL_POLICY",
    text: "policy document, JSON (default: the built-in policy that admits every run)",
  },
  {
    flag: "--run-token-budget <tokens>",
    env: "RUNSEAL_RUN_TOKEN_BUDGET",
    text: "most tokens one run may declare",
    fallback: "1000000",
  },
  {
    flag: "--window-token-budget <tokens>",
    env: "RUNSEAL_WINDOW_TOKEN_BUDGET",
    text: "cumulative tokens at which a tenant's window is closed",
    fallback: "10000000",
  },
  {
    flag: "--window-seconds <seconds>",
    env: "RUNSEAL_WINDOW_SECONDS",
    text: "length of a budget window in seconds; windows are aligned to the epoch",
    fallback: "86400",
  },
  {
    flag: "--rate-limit <requests>",
    env: "RUNSEAL_RATE_LIMIT",
    text: "requests a minute that one key may make",
    fallback: "100",
  },
  {
    flag: "--attest-rate-limit <requests>",
    env: "RUNSEAL_ATTEST_RATE_LIMIT",
    text: "POST /attest a minute that one key, or one address in open mode, may make",
    fallback: "30",
  },
  {
    flag: "--anonymous-rate-limit <requests>",
    env: "RUNSEAL_ANONYMOUS_RATE_LIMIT",
    text: "requests a minute that one address may make in open mode (default: the value of --rate-limit)",
  },
  {
    flag: "--trust-proxy <hops>",
    env: "RUNSEAL_TRUST_PROXY",
    text: "proxies in front of the service: the caller is the address that far from the right of X-Forwarded-For",
    fallback: "0",
  },
  {
    flag: "--aivp <reviewer>",
    env: "RUNSEAL_AIVP",
    text: "who reviews AI output",
    fallback: "builtin",
    choices: REVIEWER_KINDS,
  },
  {
    flag: "--aivp-base-url <url>",
    env: "RUNSEAL_AIVP_BASE_URL",
    text: "address of the reviewer's API; its key is read from RUNSEAL_AIVP_API_KEY only",
  },
  { flag: "--aivp-model <name>", env: "RUNSEAL_AIVP_MODEL", text: "model of the reviewer" },
  {
    flag: "--aivp-timeout <ms>",
    env: "RUNSEAL_AIVP_TIMEOUT",
    text: "deadline of one review with all its retries, in milliseconds",
    fallback: "20000",
  },
  {
    flag: "--witness <witness>",
    env: "RUNSEAL_WITNESS",
    text: "ask this witness to cosign the log's checkpoints: its verifier key, =, its address; repeatable",
    repeatable: true,
  },
  {
    flag: "--witnesses-needed <count>",
    env: "RUNSEAL_WITNESSES_NEEDED",
    text: "cosignatures with which a checkpoint counts as witnessed (default: more than half of the witnesses)",
  },
  {
    flag: "--anchor <log>",
    env: "RUNSEAL_ANCHOR",
    text: "where entries are logged: in the embedded log, or in a Rekor log besides",
    fallback: "embedded",
    choices: ["embedded", "rekor"],
  },
  {
    flag: "--anchor-mode <mode>",
    env: "RUNSEAL_ANCHOR_MODE",
    text: "answer once a record is sealed, or once the Rekor log holds it too (default: async)",
    choices: ["async", "sync"],
  },
  {
    flag: "--rekor-url <url>",
    env: "RUNSEAL_REKOR_URL",
    text: "address of the Rekor log (default: public Rekor)",
  },
  {
    flag: "--rekor-key <file>",
    env: "RUNSEAL_REKOR_KEY",
    text: "public key of the Rekor log in PEM, P-256 or with API v2 also Ed25519 (default: that of public Rekor, which is built in)",
  },
  {
    flag: "--rekor-origin <host>",
    env: "RUNSEAL_REKOR_ORIGIN",
    text: "host name in the checkpoints of the Rekor log (default: that of its address)",
  },
  {
    flag: "--rekor-in-flight <entries>",
    env: "RUNSEAL_REKOR_IN_FLIGHT",
    text: "entries sent to the Rekor log at one time; with more than 1 they may stand there in another order (default: 1)",
  },
  {
    flag: "--rekor-version <version>",
    env: "RUNSEAL_REKOR_VERSION",
    text: "API of the Rekor log; with 2 the log says no time, and a timestamp authority does (default: 1)",
    choices: ["1", "2"],
  },
  {
    flag: "--tsa-url <url>",
    env: "RUNSEAL_TSA_URL",
    text: "where the timestamp authority (RFC 3161) is asked, with API v2 of Rekor",
  },
  {
    flag: "--tsa-chain <file>",
    env: "RUNSEAL_TSA_CHAIN",
    text: "certificates of the timestamp authority in PEM: its own, then those above it, the root last",
  },
  {
    flag: "--signer-url <url>",
    env: "RUNSEAL_SIGNER_URL",
    text: "where the service key is kept: a key version of a KMS over HTTP (default: in the keys folder)",
  },
  {
    flag: "--signer-token-file <file>",
    env: "RUNSEAL_SIGNER_TOKEN_FILE",
    text: "file of the signer's bearer token, read for each batch",
  },
  {
    flag: "--metrics-port <port>",
    env: "RUNSEAL_METRICS_PORT",
    text: "port of GET /metrics for Prometheus; 0 lets the system choose (default: no metrics)",
  },
  {
    flag: "--metrics-host <host>",
    env: "RUNSEAL_METRICS_HOST",
    text: "address the metrics are served on",
    fallback: "127.0.0.1",
  },
  {
    flag: "--log-level <level>",
    env: "RUNSEAL_LOG_LEVEL",
    text: "what the process log holds",
    fallback: "info",
    choices: ["silent", "error", "warn", "info", "debug"],
  },
  {
    flag: "--mint-admin-key <name>",
    text: "make an admin key of this name in the database, print its secret once and exit without starting the server",
  },
]
