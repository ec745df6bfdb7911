/** Start-up: what is explained, and what is refused in one sentence. */
import { generateKeyPairSync, X509Certificate } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { FOR_CODE, testAuthority } from "../../../../libs/core/test/fixtures/authority.ts"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { boot, prepare } from "../../src/boot.ts"
import { createKeys } from "../../src/keys/key-file.ts"
import { type Config, readConfig } from "../../src/options/config.ts"
import { StartupError } from "../../src/options/startup-error.ts"
import { flagOf, OPTIONS, type OptionValues } from "../../src/options/table.ts"
import { MACHINE_CLOCK } from "../../src/sealing/log-clock.ts"
import { type Database, openDatabase } from "../../src/store/driver/database.ts"
import { type Ended, runToEnd } from "../harness/child.ts"

const folder = testFolder("runseal-options")
const dataDir = join(folder, "data")

const isOption = (name: string): name is keyof OptionValues => Object.hasOwn(OPTIONS.entries, name)
/** Commands, which no variable gives. */
const NO_VARIABLE = ["--mint-admin-key", "--secret-file"]
const FLAGS = Object.keys(OPTIONS.entries)
  .filter(isOption)
  .map(flagOf)
  .filter(flag => !NO_VARIABLE.includes(flag))

describe("--help", () => {
  let help: Ended
  /** One line, however the terminal would break it. */
  let words = ""
  beforeAll(async () => {
    help = await runToEnd(["--help"])
    words = help.stdout.replace(/\s+/g, " ")
  })

  test("ends with 0 and writes no error", () => {
    expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: "" })
  })

  test.each(FLAGS)("explains %s and its variable", flag => {
    const variable = `RUNSEAL_${flag.slice(2).replaceAll("-", "_").toUpperCase()}`
    expect(words).toMatch(new RegExp(`${flag} [<\\[][a-z|]+[>\\]] [^-].{10,}env: ${variable}\\b`))
  })

  test("gives units and defaults", () => {
    for (const text of ['"8080"', '"127.0.0.1"', '"runseal.local"', '"1000000"', '"10000000"', '"86400"', '"builtin"'])
      expect(words).toContain(`default: ${text}`)
    expect(words).toMatch(/window in seconds/)
    expect(words).toMatch(/in milliseconds/)
    expect(words).toMatch(/key is read from RUNSEAL_AIVP_API_KEY only/)
    expect(words).toMatch(/--mint-admin-key <name> make an admin key .*exit without starting/)
  })

  test("--version prints the version", async () => {
    expect(await runToEnd(["--version"])).toEqual({ code: 0, stdout: "1.0.0\n", stderr: "" })
  })
})

type Refused = readonly [name: string, options: readonly string[], names: RegExp]

const V2 = ["--anchor", "rekor", "--rekor-version", "2"]
const V2_LOG = ["--rekor-url", "https://rekor.example", "--rekor-key", "rekor.pub"]

const BAD_OPTIONS: readonly Refused[] = [
  ["a port out of range", ["--port", "65536"], /--port/],
  ["a port that is no number", ["--port", "http"], /--port/],
  ["an option without its value", ["--port"], /--port/],
  ["an unknown option", ["--prot", "1"], /--prot/],
  ["a further word", ["serve"], /further/],
  ["an empty host", ["--host", ""], /--host/],
  ["an upper-case log origin", ["--log-origin", "Log.example"], /--log-origin/],
  ["a log origin with a port", ["--log-origin", "log.example:80"], /--log-origin/],
  ["an empty log origin", ["--log-origin", ""], /--log-origin/],
  ["a database that is no PostgreSQL", ["--database-url", "mysql://localhost/x"], /--database-url/],
  ["a pooler without an address", ["--database-pooling", "transaction"], /--database-pooling needs --database-url/],
  [
    "another kind of pooling",
    ["--database-url", "postgres://u:geheim@x/y", "--database-pooling", "session"],
    /--database-pooling .* choices/,
  ],
  [
    "a direct address without a pooler",
    ["--database-url", "postgres://u:geheim@x/y", "--database-direct-url", "postgres://u:geheim@z/y"],
    /--database-direct-url needs --database-pooling/,
  ],
  [
    "a read standby without an address",
    ["--database-read-url", "postgres://u:geheim@x/y"],
    /--database-read-url needs/,
  ],
  [
    "a read standby with several hosts",
    ["--database-url", "postgres://u@x/y", "--database-read-url", "postgres://u:geheim@x,z/y"],
    /--database-read-url must be .* one host/,
  ],
  ["a direct address that is none", ["--database-direct-url", "mysql://u:geheim@x"], /--database-direct-url/],
  ["a region with a slash", ["--region", "eu/1"], /--region/],
  ["a base address that is no web address", ["--base-url", "ftp://example.org"], /--base-url/],
  ["a negative run budget", ["--run-token-budget", "-1"], /--run-token-budget/],
  ["a run budget beyond 2^53 − 1", ["--run-token-budget", "9007199254740992"], /--run-token-budget/],
  ["a window cap of 0", ["--window-token-budget", "0"], /--window-token-budget/],
  ["a window of 0 seconds", ["--window-seconds", "0"], /--window-seconds/],
  ["a window of half a second", ["--window-seconds", "0.5"], /--window-seconds/],
  ["a rate limit of 0", ["--rate-limit", "0"], /--rate-limit/],
  ["an attest rate limit of 0", ["--attest-rate-limit", "0"], /--attest-rate-limit/],
  ["an anonymous rate limit that is no number", ["--anonymous-rate-limit", "none"], /--anonymous-rate-limit/],
  ["a trusted proxy by name", ["--trust-proxy", "loopback"], /--trust-proxy/],
  ["more proxies than there are", ["--trust-proxy", "17"], /--trust-proxy/],
  ["a header that is neither of the two", ["--proxy-header", "x-real-ip"], /--proxy-header/],
  ["an idle time of 0", ["--keep-alive-timeout", "0"], /--keep-alive-timeout/],
  ["an unknown reviewer", ["--aivp", "oracle"], /--aivp/],
  ["a model reviewer without a model", ["--aivp", "anthropic"], /--aivp-model/],
  ["a reviewer address that is none", ["--aivp-base-url", "localhost"], /--aivp-base-url/],
  ["a file for the reviewer's address", ["--aivp-base-url", "file:///reviewer"], /--aivp-base-url/],
  ["a query in the reviewer's address", ["--aivp-base-url", "https://x.example/v1?key=geheim"], /--aivp-base-url/],
  ["a review deadline of 0", ["--aivp-timeout", "0"], /--aivp-timeout/],
  ["a review deadline near the log's tolerance", ["--aivp-timeout", "600000"], /--aivp-timeout/],
  ["an anchor that is none", ["--anchor", "blockchain"], /--anchor/],
  ["a Rekor address without a Rekor log", ["--rekor-url", "https://rekor.example"], /--rekor-url needs --anchor rekor/],
  ["a Rekor log over http", ["--anchor", "rekor", "--rekor-url", "http://rekor.example"], /--rekor-url/],
  [
    "a password in the Rekor address",
    ["--anchor", "rekor", "--rekor-url", "https://u:geheim@x.example"],
    /--rekor-url/,
  ],
  ["a Rekor origin with a port", ["--anchor", "rekor", "--rekor-origin", "rekor.example:80"], /--rekor-origin/],
  ["no entry in flight", ["--anchor", "rekor", "--rekor-in-flight", "0"], /--rekor-in-flight/],
  ["a mode that is none", ["--anchor", "rekor", "--anchor-mode", "later"], /--anchor-mode/],
  ["a version of Rekor that is none", ["--anchor", "rekor", "--rekor-version", "3"], /--rekor-version/],
  ["a version of Rekor without a Rekor log", ["--rekor-version", "2"], /--rekor-version needs --anchor rekor/],
  [
    "Rekor v2 with nothing else",
    V2,
    /--rekor-version 2 needs --rekor-url and --rekor-key and --tsa-url and --tsa-chain/,
  ],
  ["Rekor v2 without its chain", [...V2, ...V2_LOG, "--tsa-url", "https://t.example"], /2 needs --tsa-chain$/m],
  ["Rekor v2 without its authority", [...V2, ...V2_LOG, "--tsa-chain", "x.pem"], /--rekor-version 2 needs --tsa-url$/m],
  ["a chain for Rekor v1", ["--anchor", "rekor", "--tsa-chain", "x.pem"], /--tsa-chain needs --rekor-version 2/],
  [
    "an authority for Rekor v1",
    ["--anchor", "rekor", "--tsa-url", "https://t.example"],
    /--tsa-url needs --rekor-version 2/,
  ],
  [
    "a password in the authority's address",
    [...V2, ...V2_LOG, "--tsa-chain", "x.pem", "--tsa-url", "https://u:geheim@t.example"],
    /--tsa-url/,
  ],
  [
    "an authority's address that no trust document holds",
    [...V2, ...V2_LOG, "--tsa-chain", "x.pem", "--tsa-url", `https://t.example/${"x".repeat(512)}`],
    /--tsa-url must be an https or http address of at most 512 characters/,
  ],
  ["a metrics port out of range", ["--metrics-port", "65536"], /--metrics-port/],
  ["an empty metrics host", ["--metrics-host", ""], /--metrics-host/],
  ["an admin key without a name", ["--mint-admin-key", ""], /--mint-admin-key/],
  ["an admin key named like a customer's", ["--mint-admin-key", "customer:acme"], /--mint-admin-key/],
  ["an admin key with a name of two lines", ["--mint-admin-key", "a\nb"], /--mint-admin-key/],
  ["an admin key with a name too long", ["--mint-admin-key", "n".repeat(129)], /--mint-admin-key/],
  ["an unknown log level", ["--log-level", "loud"], /--log-level/],
  ["a password in the address all may read", ["--base-url", "https://u:geheim@x.example"], /--base-url/],
  ["a query in the address all may read", ["--base-url", "https://x.example/?token=geheim"], /--base-url/],
  ["a fragment in the address all may read", ["--base-url", "https://x.example/#geheim"], /--base-url/],
  ["a misspelt option with its value", ["--databse-url=postgres://u:geheim@localhost/x"], /--databse-url/],
  ["a value without its option", ["postgres://u:geheim@localhost/x"], /option/],
  ["a secret given to another option", ["--aivp", "geheim"], /--aivp/],
  ["a secret in the database address that is none", ["--database-url", "mysql://u:geheim@x"], /--database-url/],
]

test.each(BAD_OPTIONS)("%s is refused, the option named", (_name, options, names) => {
  const read = (): unknown => readConfig(options, {})
  expect(read).toThrow(StartupError)
  expect(read).toThrow(names)
  expect(read).not.toThrow(/geheim/)
})

test("anonymous callers have the limit of a key, unless they are given their own", () => {
  expect(readConfig(["--rate-limit", "7"], {})).toMatchObject({
    rateLimit: 7,
    anonymousRateLimit: 7,
    attestRateLimit: 30,
  })
  expect(readConfig(["--anonymous-rate-limit", "3"], {})).toMatchObject({ rateLimit: 100, anonymousRateLimit: 3 })
})

test("an address is used without its final slashes", () => {
  const options = ["--aivp-base-url", "https://x.example/v1//", "--base-url", "https://y.example/"]
  const read = readConfig(options, {})
  expect(read).toMatchObject({ baseUrl: "https://y.example", reviewer: { baseUrl: "https://x.example/v1" } })
})

const policyFile = (name: string, text: string): string => {
  const path = join(folder, `${name}.json`)
  writeFileSync(path, text)
  return path
}
const file = policyFile("file", "{}")
/** A folder of the test's own, named after what is wrong with it. */
const made = (name: string, spoil: (path: string) => void): string => {
  const path = join(folder, name)
  mkdirSync(path, { mode: 0o700 })
  spoil(path)
  return path
}
const MODEL = ["--aivp", "openai", "--aivp-model", "m"]

const REKOR = ["--anchor", "rekor", "--rekor-url", "https://rekor.example"]

const { publicKey } = generateKeyPairSync("ed25519")
const ED25519 = policyFile("ed25519", publicKey.export({ type: "spki", format: "pem" }).toString())
const REKOR_V2 = [...V2, ...REKOR.slice(2), "--rekor-key", ED25519, "--tsa-url", "http://tsa.example", "--tsa-chain"]
const WEB_CHAIN = policyFile(
  "chain",
  testAuthority({ purposes: FOR_CODE })
    .authority.certificates.map(der => new X509Certificate(der).toString())
    .join(""),
)

const BAD_STARTS: readonly Refused[] = [
  ["a policy that is not there", ["--policy", join(folder, "none.json")], /--policy/],
  ["a policy that is no JSON", ["--policy", policyFile("broken", "{")], /--policy/],
  ["a policy with an unknown key", ["--policy", policyFile("key", '{"policy":1}')], /--policy/],
  ["a model reviewer without a key", MODEL, /key/],
  ["a Rekor log of one's own without its key", [...REKOR], /--rekor-key/],
  ["a Rekor key that is not there", [...REKOR, "--rekor-key", join(folder, "none.pem")], /--rekor-key/],
  [
    "a Rekor key that is none",
    [...REKOR, "--rekor-key", policyFile("pem", "-----BEGIN PUBLIC KEY-----")],
    /--rekor-key/,
  ],
  ["a log key of Rekor v2 for a log of version 1", [...REKOR, "--rekor-key", ED25519], /as a P-256 public key/],
  ["a chain of certificates that is not there", [...REKOR_V2, join(folder, "none.pem")], /--tsa-chain .* in PEM/],
  ["a chain of certificates that is none", [...REKOR_V2, ED25519], /--tsa-chain .* cannot be read as certificates/],
  [
    "a chain of certificates that are not for timestamps",
    [...REKOR_V2, WEB_CHAIN],
    /--tsa-chain .* for timestamps alone/,
  ],
  ["a password in the reviewer's address", [...MODEL, "--aivp-base-url", "https://u:geheim@x.example"], /credentials/],
]

const KEYS = "signing-keys.json"
const link = join(folder, "link")
symlinkSync(join(folder, "nowhere", "keys"), link)

/** A keys folder with the keys of a deployment, spoilt. */
const spoiltKeys = (name: string, spoil: (keysFile: string) => void): string =>
  made(name, path => {
    createKeys(path)
    spoil(join(path, KEYS))
  })

/** A keys folder in which a process remembered a head, spoilt. */
const spoiltHead = (name: string, text: string): string =>
  made(name, path => {
    createKeys(path)
    mkdirSync(join(path, "heads"))
    writeFileSync(join(path, "heads", "0"), text)
  })

const BAD_DATA_FOLDERS: readonly (readonly [name: string, dataDir: string, names: RegExp])[] = [
  ["below something that is no folder", "/dev/null/x", /data folder \/dev\/null\/x\/db cannot be used/],
  ["that is a file", file, /data folder .* cannot be used/],
  [
    "whose lock is a folder",
    made("bad-lock", path => mkdirSync(join(path, "db", "lock"), { recursive: true })),
    /data folder .* cannot be used/,
  ],
  [
    "whose database is a file",
    made("bad-cluster", path => {
      mkdirSync(join(path, "db"))
      writeFileSync(join(path, "db", "postgres"), "")
    }),
    /data folder .* cannot be used/,
  ],
  [
    "whose database is empty",
    made("no-version", path => mkdirSync(join(path, "db", "postgres"), { recursive: true })),
    /data folder .* cannot be used/,
  ],
  [
    "whose database lacks its files",
    made("no-files", path => {
      mkdirSync(join(path, "db", "postgres"), { recursive: true })
      writeFileSync(join(path, "db", "postgres", "PG_VERSION"), "18\n")
    }),
    /embedded database cannot be opened/,
  ],
]

const HALF_KEYS = spoiltKeys("half-keys", path => truncateSync(path, 300))

const BAD_KEYS: readonly (readonly [name: string, keysDir: string, names: RegExp])[] = [
  ["below something that is no folder", "/dev/null/keys", /keys folder \/dev\/null\/keys cannot be used/],
  ["that is a file", file, /keys folder .* cannot be used/],
  ["that is a link to nowhere", link, /keys folder .* cannot be used/],
  ["whose heads are a file", made("bad-heads", path => writeFileSync(join(path, "heads"), "")), /cannot be used/],
  [
    "with a head that is a folder",
    made("head-folder", path => mkdirSync(join(path, "heads", "0"), { recursive: true })),
    /cannot be used/,
  ],
  ["with half a head", spoiltHead("half-head", "00000000000"), /heads.* is damaged/],
  ["with an empty head", spoiltHead("empty-head", ""), /heads.* is damaged/],
  [
    "with a keys file that is a folder",
    made("keys-folder", path => mkdirSync(join(path, KEYS), { mode: 0o700 })),
    /cannot be used/,
  ],
  ["with an empty keys file", spoiltKeys("empty-keys", path => truncateSync(path)), /is damaged; restore it/],
  ["with half a keys file", HALF_KEYS, /is damaged; restore it/],
  [
    "with keys of another kind",
    spoiltKeys("other-keys", path => writeFileSync(path, '{"kind":"geheim"}')),
    /not a key file of this release/,
  ],
  [
    "with a key that is cut",
    spoiltKeys("cut-key", path => writeFileSync(path, readFileSync(path, "utf8").replace(/MIG[\w+/]{20}/, "geheim"))),
    /holds a damaged key/,
  ],
  [
    "with a short origin secret",
    spoiltKeys("short-secret", path =>
      writeFileSync(path, readFileSync(path, "utf8").replace(/"[0-9a-f]{64}"/, '"00"')),
    ),
    /damaged origin secret/,
  ],
]

/** What a refusal says, whole: one sentence for the operator. */
function expectSentence(refused: unknown, names: RegExp): void {
  if (!(refused instanceof StartupError)) throw new Error(`not refused in a sentence: ${refused}`)
  expect(refused.message).toMatch(names)
  expect(refused.message).not.toMatch(/\n|Error:|geheim/)
}

const configOf = (options: readonly string[]): Config => {
  const config = readConfig(options, {})
  if ("ended" in config) throw new Error("the options ask for help")
  return config
}

describe("a start is refused in one sentence", () => {
  test.each(BAD_STARTS)("%s", (_name, options, names) => {
    let refused: unknown
    try {
      prepare(configOf(options))
    } catch (error) {
      refused = error
    }
    expectSentence(refused, names)
  })

  test.each(BAD_DATA_FOLDERS)("a data folder %s", async (_name, dataDir, names) => {
    const opened = openDatabase({ kind: "pglite", dataDir: join(dataDir, "db") })
    expectSentence(await opened.catch((error: unknown) => error), names)
  })

  describe("a keys folder", () => {
    const logger = pino({ level: "silent" })
    let db: Database
    beforeAll(async () => {
      db = await openDatabase({ kind: "memory" })
    })
    afterAll(() => db.close())

    test.each(BAD_KEYS)("%s", async (_name, keysDir, names) => {
      const config = configOf(["--keys-dir", keysDir])
      const booted = boot({ config, prepared: prepare(config), db, logger, ...MACHINE_CLOCK })
      expectSentence(await booted.catch((error: unknown) => error), names)
    })
  })
})

describe("the process says the sentence and ends with exit code 1", () => {
  const expectEnded = ({ code, stdout, stderr }: Ended, names: RegExp): void => {
    expect(stderr).toMatch(names)
    expect(stderr).toMatch(/^runseal: [^\n]+\n$/)
    expect(stderr).not.toMatch(/Error:|^ +at |geheim/)
    expect(stdout).not.toContain("listening")
    expect(code).toBe(1)
  }

  test.each<Refused>([
    ["a policy that is not there", ["--policy", join(folder, "none.json")], /--policy/],
    ["a database out of reach", ["--database-url", "postgres://u:geheim@127.0.0.1:9/x"], /could not be reached/],
    ["a data folder that is a file", ["--data-dir", file], /data folder .* cannot be used/],
    ["a keys folder with half a keys file", ["--keys-dir", HALF_KEYS], /is damaged; restore it/],
    ["an address that is not this machine's", ["--host", "203.0.113.7"], /cannot listen on 203\.0\.113\.7:8080/],
  ])("%s", async (_name, options, names) => {
    expectEnded(await runToEnd(["--data-dir", dataDir, ...options]), names)
  })

  test("a bad option or variable, before the data folder is touched", async () => {
    const untouched = join(folder, "untouched")
    expectEnded(await runToEnd(["--data-dir", untouched, "--prot", "1"]), /--prot/)
    expectEnded(await runToEnd(["--data-dir", untouched], { RUNSEAL_PORT: "http" }), /RUNSEAL_PORT must be/)
    expect(existsSync(untouched)).toBe(false)
  })
})
