import { globSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config"

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const propertySeed = pathOf("tools/src/properties/property-seed.ts")

/** What `npm test` runs: each package by itself, but for the folders below. */
const PACKAGES: Readonly<Record<string, string>> = {
  canonical: "libs/canonical",
  log: "libs/log",
  core: "libs/core",
  pdf: "libs/pdf",
  sdk: "libs/sdk",
  "verifier-cli": "apps/verifier-cli",
  server: "apps/server",
  tools: "tools",
}

/** What takes minutes or needs other programs has a command of its own: `npm run test:<name>` runs these, and `npm test` does not. */
const APART: Readonly<Record<string, readonly string[]>> = {
  /** Servers and verifiers as processes: their options, starts, ends, kills; and outside logs that fail in every way. */
  process: [
    "apps/server/spec/process",
    "apps/server/spec/outbox",
    "apps/verifier-cli/test/process",
    "tools/src/demo/demo.test.ts",
  ],
  /** Kills, full disks, stepped clocks, failovers. */
  faults: ["lab/src/faults"],
  /** Sealer, ledger and log in many orders of events. */
  simulation: ["lab/src/simulation"],
  /** Every value of every kind of record, changed. */
  mutation: ["libs/core/test/mutation"],
  /** What is published, packed and installed. */
  packages: ["tools/src/packing", "tools/src/supply-chain", "libs/sdk/test"],
  /** The verify page in Chromium. */
  browser: ["apps/server/spec/browser"],
  /** Regular expressions that an attacker could make slow. */
  patterns: ["tools/src/patterns"],
  /** Inputs that strangers could send. */
  fuzz: ["lab/src/fuzz"],
  /** The tests of bench, load and gallery. */
  lab: ["lab/src/bench", "lab/src/load", "lab/src/gallery"],
  /** Programs of others: cosign, sigstore-go, Rekor, log auditors, witnesses. */
  interop: ["apps/server/spec/interop", "apps/verifier-cli/test/interop"],
}

/** `npm run test:postgres` runs suites of the server a second time, which `npm test` runs on the embedded database. */
const POSTGRES = "postgres"
const ON_EACH_DATABASE = globSync("apps/server/spec/**/*.test.ts", { cwd: pathOf(".") }).filter(path =>
  readFileSync(pathOf(path), "utf8").includes("eachDatabase("),
)

/** Projects with suites on PostgreSQL, for which a cluster is started. */
const ON_POSTGRES = ["server", POSTGRES, "process", "faults", "simulation"]
const postgresSetup = pathOf("apps/server/spec/database/one-cluster.ts")
const globalSetup = (name: string): string[] => (ON_POSTGRES.includes(name) ? [postgresSetup] : [])

/** Suites that keep nothing in their modules share them: loading a server takes longer than many a suite. */
const SHARED_MODULES = { isolate: false }

/** Suites whose servers mostly wait: more of them at a time than there are processors. */
const WAITING = ["process"]
const PROCESSORS = availableParallelism()

/** Deadlines are for what hangs: no test comes near them, also on a machine that is several times slower. */
const COMMON = { hookTimeout: 240_000, setupFiles: [propertySeed] }
const SERVER_TIMEOUT_MS = 240_000
const TIMEOUT_MS = 120_000

/** The tests of a folder, or a single one. */
const testsOf = (place: string): string => (place.endsWith(".ts") ? place : `${place}/**/*.test.ts`)

const ofPackage = ([name, folder]: readonly [string, string]): TestProjectInlineConfiguration => ({
  test: {
    ...COMMON,
    name,
    globalSetup: globalSetup(name),
    include: ["src", "test", "spec"].map(part => testsOf(`${folder}/${part}`)),
    exclude: Object.values(APART).flat().map(testsOf),
    testTimeout: name === "server" ? SERVER_TIMEOUT_MS : TIMEOUT_MS,
    // Some of them wait: one more than there are processors.
    maxWorkers: PROCESSORS + 1,
    ...SHARED_MODULES,
  },
})

const apart = ([name, places]: readonly [string, readonly string[]]): TestProjectInlineConfiguration => ({
  test: {
    ...COMMON,
    name,
    globalSetup: globalSetup(name),
    include: places.map(testsOf),
    testTimeout: SERVER_TIMEOUT_MS,
    ...(WAITING.includes(name)
      ? { maxWorkers: 2 * PROCESSORS, sequence: { groupOrder: 2 } }
      : { maxWorkers: PROCESSORS, sequence: { groupOrder: 1 } }),
  },
})

const onPostgres: TestProjectInlineConfiguration = {
  test: { ...apart([POSTGRES, ON_EACH_DATABASE]).test, ...SHARED_MODULES, env: { RUNSEAL_DATABASES: POSTGRES } },
}

export default defineConfig({
  test: { projects: [...Object.entries(PACKAGES).map(ofPackage), ...Object.entries(APART).map(apart), onPostgres] },
})
