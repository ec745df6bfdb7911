import { globSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const propertySeed = pathOf("tools/src/properties/property-seed.ts")

/** The projects of `npm test`: one for each package, without the folders below. */
const PACKAGES: Readonly<Record<string, string>> = {
  canonical: "libs/canonical",
  log: "libs/log",
  core: "libs/core",
  pdf: "libs/pdf",
  permit: "libs/permit",
  policy: "libs/policy",
  sdk: "libs/sdk",
  "verifier-cli": "apps/verifier-cli",
  server: "apps/server",
  tools: "tools",
}

/** Tests that take minutes or need other programs: `npm run test:<name>` runs them, and `npm test` does not. */
const APART: Readonly<Record<string, readonly string[]>> = {
  /** Suites that start a service for each of many settings, or wait for deadlines. */
  services: [
    "apps/server/spec/access/authorization-matrix.test.ts",
    "apps/server/spec/access/open-and-locked.test.ts",
    "apps/server/spec/budgets.test.ts",
    "apps/server/spec/events",
    "apps/server/spec/export.test.ts",
    "apps/server/spec/export-compressed.test.ts",
    "apps/server/spec/governance-review.test.ts",
    "apps/server/spec/observing-service.test.ts",
    "apps/server/spec/operator-with-every-key.test.ts",
    "apps/server/spec/pages-agree.test.ts",
    "apps/server/spec/permitted-acts.test.ts",
    "apps/server/spec/run-statement.test.ts",
    "apps/server/spec/signature-matches.test.ts",
    "apps/server/spec/trial-quota.test.ts",
  ],
  /** Servers and verifiers as processes, and services that race as processes do: options, starts, stops, kills; and outside logs with all kinds of faults. */
  process: [
    "apps/server/spec/process",
    "apps/server/spec/access/access-races.test.ts",
    "apps/server/spec/attestation-races.test.ts",
    "apps/server/spec/concurrency.test.ts",
    "apps/server/spec/hooks-of-twins.test.ts",
    "apps/server/spec/idempotency-races.test.ts",
    "apps/server/spec/log-health.test.ts",
    "apps/server/spec/permit-races.test.ts",
    "apps/server/spec/permit-redemption.test.ts",
    "apps/server/spec/put-back.test.ts",
    "apps/server/spec/rate-limits.test.ts",
    "apps/server/spec/readiness.test.ts",
    "apps/server/spec/signer-readiness.test.ts",
    "apps/server/spec/outbox",
    "apps/server/src/store/driver/pglite/durable-files.test.ts",
    "apps/verifier-cli/test/process",
    "tools/src/demo/demo.test.ts",
  ],
  /** Kills, full disks, clocks that are set, failovers. */
  faults: ["lab/src/faults"],
  /** Those of them that take a minute or more each; `npm run test:all` leaves them out. */
  outages: [
    "clock",
    "embedded-database",
    "failover",
    "killed-permits",
    "killed-revocations",
    "not-ready",
    "read-standby",
    "replayed-permits",
    "standby-gone",
  ].map(name => `lab/src/faults/${name}.test.ts`),
  /** Primaries of a Patroni cluster are lost. */
  cluster: ["lab/src/cluster"],
  /** Two whole deployments behind nginx. */
  shards: ["lab/src/shards"],
  /** Sealer, ledger and log in many orders of events. */
  simulation: ["lab/src/simulation"],
  /** Every kind of record, with each of its values changed; reports, with their bits changed. */
  mutation: [
    "libs/core/test/mutation",
    "libs/core/test/outside-tiled.test.ts",
    "apps/server/spec/report-signature.test.ts",
  ],
  /** The published packages, packed and installed. */
  packages: ["tools/src/packing", "tools/src/supply-chain", "libs/sdk/test"],
  /** The Python package: wheel, types, tests, and both verifiers against each other. */
  python: ["tools/src/python"],
  /** Pages of the service in Chromium. */
  browser: ["apps/server/spec/browser", "apps/server/spec/docs-page.test.ts"],
  /** Regular expressions, checked for input that makes them slow. */
  patterns: ["tools/src/patterns"],
  /** Mutated untrusted input. */
  fuzz: ["lab/src/fuzz", "apps/server/spec/openapi-fuzz.test.ts"],
  /** The tests of bench, load, gallery and the seeded faults. */
  lab: ["lab/src/bench", "lab/src/load", "lab/src/gallery", "lab/src/seeded"],
  /** The doors, in front of servers and behind clients that others wrote. */
  doors: [
    "apps/agents/test",
    "apps/hooks/test",
    "apps/mcp/test",
    "apps/server/spec/hooks.test.ts",
    "apps/server/spec/otlp",
  ],
  /** Third-party programs: cosign, sigstore-go, Rekor, log auditors, witnesses, PyJWT, Express. */
  interop: ["apps/server/spec/interop", "apps/verifier-cli/test/interop"],
}

/**
 * `npm run test:postgres` runs those suites of the server on PostgreSQL, which `npm test` runs on the embedded database, whose answers follow
 * from SQL: lists and searches, exports, windows, locks, keys of idempotency. Not those of what is parsed, who may call and what documents hold.
 */
const POSTGRES = "postgres"
const ON_ONE_DATABASE = [
  "access/authorization-matrix",
  "access/open-and-locked",
  "access/ownership",
  "access/publication",
  "access/secrets-nowhere",
  "access/sessions",
  "acts",
  "observing-service",
  "policies",
  "raw-text-nowhere",
  "refusals-decided-again",
  "run-verify",
].map(name => `apps/server/spec/${name}.test.ts`)
const ON_EACH_DATABASE = globSync("apps/server/spec/**/*.test.ts", { cwd: pathOf(".") }).filter(
  path => !ON_ONE_DATABASE.includes(path) && readFileSync(pathOf(path), "utf8").includes("eachDatabase("),
)

/** Projects with suites on PostgreSQL, for which a cluster is started. */
const ON_POSTGRES = ["server", POSTGRES, "services", "process", "faults", "outages", "cluster", "simulation"]
const postgresSetup = pathOf("apps/server/spec/database/one-cluster.ts")
const globalSetup = (name: string): string[] => (ON_POSTGRES.includes(name) ? [postgresSetup] : [])

/** Suites without state in their modules share them, since loading a server takes longer than many suites. */
const SHARED_MODULES = { isolate: false }

/** Projects apart whose modules can be shared as well. In the others helpers register hooks, count what is loaded, or have suites of one file. */
const SHARING = ["lab", "mutation", "patterns", "process", "services"]

/** Suites whose servers mostly wait: twice as many of them run at a time as there are processors; of the others one more. */
const WAITING = ["process"]
const PROCESSORS = availableParallelism()

/** Projects apart in the order in which they start: those with a suite of minutes first, those that need nothing but a processor last. */
const ORDER_APART = ["python", "packages", "faults", "simulation", "interop", "doors"]

/** Suites that take longest, for a first run, which knows no durations: they start first in their project. */
const LONGEST = [
  "apps/server/spec/process/first-start.test.ts",
  "apps/server/spec/interop/permit-tokens.test.ts",
  "apps/server/spec/openapi-strictness.test.ts",
  "apps/server/src/store/driver/pglite/cluster-template.test.ts",
]

const placeIn = (list: readonly string[], name: string): number =>
  list.includes(name) ? list.indexOf(name) : list.length

const placesOf = ({ project, moduleId }: TestSpecification): readonly number[] => [
  project.config.sequence.groupOrder,
  placeIn(ORDER_APART, project.name),
  placeIn(LONGEST, moduleId.slice(pathOf(".").length)),
]

const inOrder = (suites: readonly TestSpecification[]): TestSpecification[] =>
  suites.toSorted((one, other) => {
    const places = placesOf(other)
    return (
      placesOf(one)
        .map((place, at) => place - (places[at] ?? 0))
        .find(difference => difference !== 0) ?? 0
    )
  })

/** The sequencer of Vitest, and then long suites first: no worker is busy alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(suites: TestSpecification[]): Promise<TestSpecification[]> {
    return inOrder(await super.sort(suites))
  }
}

/**
 * Timeouts only end tests that hang: no test comes near them, also on a machine that is several times slower. Threads and processes
 * that tests start find the compiled modules of those before them.
 */
const COMMON = {
  hookTimeout: 240_000,
  unstubEnvs: true,
  setupFiles: [propertySeed],
  env: { NODE_COMPILE_CACHE: pathOf("node_modules/.cache/compiled-modules") },
}
const SERVER_TIMEOUT_MS = 240_000
const TIMEOUT_MS = 120_000

/** The pattern for the tests of a folder; the path of a single test. */
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
    exclude: name === "faults" ? [...(APART.outages ?? [])] : [],
    testTimeout: SERVER_TIMEOUT_MS,
    ...(SHARING.includes(name) ? SHARED_MODULES : {}),
    ...(WAITING.includes(name)
      ? { maxWorkers: 2 * PROCESSORS, sequence: { groupOrder: 2 } }
      : { maxWorkers: PROCESSORS + 1, sequence: { groupOrder: 1 } }),
  },
})

const onPostgres: TestProjectInlineConfiguration = {
  test: {
    ...apart([POSTGRES, ON_EACH_DATABASE]).test,
    ...SHARED_MODULES,
    env: { ...COMMON.env, RUNSEAL_DATABASES: process.env.RUNSEAL_DATABASES ?? POSTGRES },
  },
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [...Object.entries(PACKAGES).map(ofPackage), ...Object.entries(APART).map(apart), onPostgres],
  },
})
