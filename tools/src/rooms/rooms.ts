/** Who may enter which room. To add a room, add its row; a folder without one is refused. */

export interface Room {
  /** A folder, or a single file; the longest path that fits a file is its room. */
  readonly path: string
  /** Rooms it may import from, with all their folders. */
  readonly enters: readonly string[]
  /** Rooms its tests may enter besides; within their own package tests may enter every room. */
  readonly testsEnter?: readonly string[]
  /** The room is only the files of its folder: every folder below needs a row of its own. */
  readonly flat?: true
}

export const CANONICAL = "libs/canonical"
export const LOG = "libs/log/src"
const CORE = "libs/core/src"
const VOCABULARY = `${CORE}/vocabulary`
const ACT = `${CORE}/act`
const ARTIFACTS = `${CORE}/artifacts`
export const FORMULAS = `${CORE}/formulas`
const DERIVATION = `${CORE}/derivation`
const VERIFY = `${CORE}/verify`
const WIRE = `${CORE}/wire`
export const PDF = "libs/pdf/src"
const POLICY = "libs/policy"
const PERMIT = "libs/permit"
const SDK = "libs/sdk"
const API = "libs/api"
const SERVER = "apps/server/src"
const HOOKS = "apps/hooks"
const CONSOLE = "apps/console"
const OTLP = "apps/otlp"
const EXECUTOR = "examples/payment-executor"

const pdf = (name: string): string => `${PDF}/${name}`

export const VERIFY_PAGE = "apps/verify-page/src"

const LIBS = [CANONICAL, LOG, CORE]
export const server = (name: string): string => `${SERVER}/${name}`
const SHARED = ["deps.ts", "followed-steps.ts", "http-error.ts", "telemetry.ts"]
/** What every room of the server may know: the libraries, its options, and the files that all of them share. */
const GIVEN = [...LIBS, PERMIT, POLICY, ...["options", ...SHARED].map(server)]
/** The HTTP client for addresses of the operator. It imports no room, so rooms below `outbound` send their requests through it. */
const ASK = server("outbound/ask.ts")

export const ROOMS: readonly Room[] = [
  { path: CANONICAL, enters: [] },

  { path: "libs/log", enters: [CANONICAL, LOG] },
  { path: LOG, enters: [], flat: true },
  { path: `${LOG}/merkle`, enters: [CANONICAL] },
  { path: `${LOG}/keys`, enters: [CANONICAL] },
  { path: `${LOG}/notes`, enters: [CANONICAL, `${LOG}/merkle`, `${LOG}/keys`] },
  { path: `${LOG}/timestamps`, enters: [CANONICAL, `${LOG}/keys`] },
  {
    path: `${LOG}/trust`,
    enters: [CANONICAL, ...["merkle", "keys", "notes", "timestamps"].map(name => `${LOG}/${name}`)],
  },
  { path: `${LOG}/entries`, enters: [CANONICAL, LOG] },

  // Its tests seal records into the log that the log's own tests have.
  { path: "libs/core", enters: [CANONICAL, LOG, CORE], testsEnter: ["libs/log/test"] },
  { path: CORE, enters: [], flat: true },
  { path: VOCABULARY, enters: [CANONICAL] },
  { path: ACT, enters: [CANONICAL, VOCABULARY] },
  { path: ARTIFACTS, enters: [CANONICAL, VOCABULARY, ACT, LOG] },
  { path: FORMULAS, enters: [CANONICAL, VOCABULARY, ACT, ARTIFACTS] },
  // What proves an entry names its leaf hash.
  { path: DERIVATION, enters: [CANONICAL, VOCABULARY, ARTIFACTS, FORMULAS, `${LOG}/merkle/rfc6962`] },
  // What it decides on is a parsed request, and the states of permits are those that are listed.
  {
    path: `${CORE}/seal`,
    enters: [
      ...[CANONICAL, VOCABULARY, ACT, ARTIFACTS, FORMULAS, DERIVATION],
      ...["submission.ts", "permit-requests.ts"].map(name => `${WIRE}/${name}`),
    ],
  },
  { path: VERIFY, enters: [CANONICAL, VOCABULARY, ACT, ARTIFACTS, FORMULAS, DERIVATION, LOG] },
  { path: `${CORE}/report-pdf`, enters: [CANONICAL, VOCABULARY, ARTIFACTS, LOG, VERIFY] },
  // Its first line says how a run ended, in the words of the table of outcomes; members of a payload are marked where an act reads them.
  { path: `${CORE}/presentation`, enters: [CANONICAL, VOCABULARY, ACT, ARTIFACTS, LOG, VERIFY] },
  // What a sealed document says to systems of others, and the forms that they read.
  { path: `${CORE}/event-forms`, enters: [CANONICAL, VOCABULARY, ARTIFACTS, WIRE] },
  // The answer of a verification over HTTP carries the verifier's report as it is.
  { path: WIRE, enters: [CANONICAL, VOCABULARY, ACT, LOG, ARTIFACTS, `${VERIFY}/report.ts`] },

  // Of a run it knows nothing; where a file is signed and how, its writer and its verifier say in one module.
  { path: "libs/pdf", enters: [CANONICAL, `${CORE}/report-pdf/report-layout`, PDF] },
  { path: PDF, enters: [CANONICAL, PDF, `${CORE}/report-pdf/report-layout`], flat: true },
  { path: `${PDF}/fonts`, enters: [CANONICAL, `${PDF}/block.ts`] },
  { path: `${PDF}/text`, enters: [CANONICAL, `${PDF}/block.ts`, ...["fonts"].map(pdf)] },
  { path: `${PDF}/tags`, enters: [CANONICAL, `${PDF}/block.ts`, ...["fonts", "text"].map(pdf)] },
  { path: `${PDF}/page`, enters: [CANONICAL, `${PDF}/block.ts`, ...["fonts", "text", "tags"].map(pdf)] },
  { path: `${PDF}/blocks`, enters: [CANONICAL, `${PDF}/block.ts`, ...["fonts", "text", "tags", "page"].map(pdf)] },
  { path: `${PDF}/file`, enters: [CANONICAL, `${CORE}/report-pdf/report-layout`, PDF] },

  // The table of endpoints: what of core and log a request or an answer can hold.
  {
    path: API,
    enters: [VOCABULARY, ARTIFACTS, WIRE, `${DERIVATION}/v2/tok`, `${LOG}/entries`],
  },

  // Their tests judge the records that core's own fixtures seal.
  { path: PERMIT, enters: LIBS, testsEnter: ["libs/core/test", EXECUTOR] },
  { path: SDK, enters: [...LIBS, API, PERMIT], testsEnter: ["libs/core/test"] },
  // The service decides by it, and verifiers decide again.
  { path: POLICY, enters: LIBS },
  { path: "apps/verifier-cli", enters: [...LIBS, POLICY], testsEnter: ["libs/core/test", "libs/log/test"] },
  // A checkout's alone: what is built is held against its sources in one way for verifier and service.
  ...["bin", "build"].map(folder => ({ path: `apps/verifier-cli/${folder}`, enters: ["tools/src/packing"] })),

  { path: VERIFY_PAGE, enters: LIBS },

  // A client of the public API, which the service serves: the requests that it sends are ordinary ones.
  // Its tests start the service as a process, as those of the gateway do.
  { path: HOOKS, enters: LIBS, testsEnter: [SDK, "apps/mcp/test", "apps/server/spec"] },
  // A run is verified in the browser by what the verify page has. Of a policy it shows what `policy check` prints.
  { path: CONSOLE, enters: [...LIBS, POLICY, `${VERIFY_PAGE}/page`, `${VERIFY_PAGE}/face`] },
  { path: OTLP, enters: LIBS },

  // Its tests send the service what the fuzzer keeps.
  {
    path: "apps/server",
    enters: [...LIBS, API, PERMIT, POLICY, SERVER, HOOKS, CONSOLE, OTLP],
    testsEnter: [
      "libs/pdf",
      SDK,
      EXECUTOR,
      `${VERIFY_PAGE}/load-page`,
      "libs/core/test",
      "lab/src/fuzz/corpus.ts",
      "libs/log/test",
    ],
  },
  // A PostgreSQL of one's own, for the tests and the bench.
  { path: "apps/server/cluster", enters: [] },
  { path: SERVER, enters: [...LIBS, API, PERMIT, POLICY, SERVER, HOOKS, CONSOLE, OTLP], testsEnter: [SDK], flat: true },
  { path: server("options"), enters: [...LIBS], testsEnter: ["libs/core/test"] },
  { path: server("policy"), enters: GIVEN },
  // Built-in rules see through the same disguises as the signatures.
  { path: server("review"), enters: [...GIVEN, server("policy/fold-text.ts"), ASK] },
  // What it cannot look through is a failed stage or a refused request.
  {
    path: server("inspection"),
    enters: [...GIVEN, ...["policy", "review", "threads"].map(server)],
  },
  { path: server("store"), enters: GIVEN },
  { path: server("keys"), enters: [...GIVEN, server("store"), ASK], testsEnter: ["libs/core/test"] },
  // What was acknowledged, remembered beside the keys.
  { path: server("heads"), enters: [...GIVEN, ...["store", "keys/keys-folder.ts"].map(server)] },
  {
    path: server("sealing"),
    enters: [...GIVEN, ...["heads", "keys", "store", "threads"].map(server)],
    testsEnter: ["libs/core/test"],
  },
  // What receivers get of a sealed document.
  { path: server("events"), enters: [...GIVEN, server("store")] },
  { path: server("outbound"), enters: [...GIVEN, ...["store", "events", "keys/webhook-secret.ts"].map(server)] },
  { path: server("threads"), enters: [] },
  { path: server("traces"), enters: GIVEN },
  {
    path: server("report"),
    // A report names the signature that matched, as the shipped library does.
    enters: [...GIVEN, PDF, server("threads"), server("policy/signature-name.ts")],
    testsEnter: ["libs/core/test", "libs/pdf/test"],
  },
  {
    path: server("http"),
    enters: [
      ...GIVEN,
      API,
      ...["sealing", "store", "report", "threads", "outbound", "events", "keys/webhook-secret.ts"].map(server),
      `${VERIFY_PAGE}/load-page`,
      // Its pages have the head of all pages.
      `${VERIFY_PAGE}/face`,
    ],
  },

  // Adapters of frameworks: clients of the public API. Their tests start the service.
  { path: "apps/agents", enters: [CANONICAL, SDK], testsEnter: [SERVER, "apps/server/spec"] },

  // A door is a client of the public API. Its tests start the service as a process. The act tables that it prints are those that policies have.
  { path: "apps/mcp", enters: [CANONICAL, ACT, SDK], testsEnter: ["libs/core/test", "apps/server/spec"] },

  // As a program of somebody else: it knows what is published.
  { path: EXECUTOR, enters: [PERMIT, SDK] },
  ...["ai-sdk", "langchain", "openai"].map(name => ({ path: `examples/${name}-agent`, enters: [SDK, "apps/agents"] })),

  // It starts whole services, breaks them and measures them: with all that the tests have.
  {
    path: "lab",
    enters: [
      ...LIBS,
      API,
      PERMIT,
      POLICY,
      PDF,
      SDK,
      SERVER,
      "apps/server/cluster",
      "apps/server/spec",
      "libs/core/test",
      "libs/log/test",
      "tools/src",
    ],
  },
  {
    path: "tools",
    enters: [`${CONSOLE}/src/assets`, ...LIBS, API, PERMIT, POLICY, PDF, SDK, SERVER, "apps/server/cluster", EXECUTOR],
  },
]

/** Where code lives: every source below these folders needs a room. */
export const HOUSES: readonly string[] = ["libs", "apps", "lab", "tools", "examples"]

/** Package names as imported, and where their sources are. `#` names belong to the package that imports them. */
export const PACKAGE_SOURCES: readonly (readonly [name: string, path: string])[] = [
  ["@runseal/canonical", "libs/canonical/src"],
  ["@runseal/log", LOG],
  ["@runseal/core", CORE],
  ["@runseal/pdf", PDF],
  ["@runseal/api", "libs/api/src"],
  ["@runseal/permit", "libs/permit/src"],
  ["@runseal/policy", "libs/policy/src"],
  ["@runseal/sdk", "libs/sdk/src"],
  ["@runseal/payment-executor", EXECUTOR],
  ["@runseal/agents", "apps/agents/src"],
  ["@runseal/mcp", "apps/mcp/src"],
  ["@runseal/verifier", "apps/verifier-cli/src"],
  ["@runseal/server/postgres-cluster", "apps/server/cluster/postgres-cluster.ts"],
  ["@runseal/verify-page", VERIFY_PAGE],
  ["@runseal/hooks", `${HOOKS}/src`],
  ["@runseal/console/assets", `${CONSOLE}/src/assets`],
  ["@runseal/console", `${CONSOLE}/src/console.ts`],
  ["#assets", `${CONSOLE}/src/assets/built-assets.ts`],
  ["@runseal/otlp", `${OTLP}/src`],
  ["@runseal/server", SERVER],
  ["@runseal/lab", "lab/src"],
  ["@runseal/tools", "tools/src"],
  ["#base64", "libs/canonical/src/base64.portable.ts"],
  ["#sha256", "libs/canonical/src/sha256.noble.ts"],
  ["#utf8-encode", "libs/canonical/src/utf8-encode.portable.ts"],
  ["#swagger-ui", `${SERVER}/http/discovery/swagger-ui.installed.ts`],
  ["#signatures", `${LOG}/keys/signatures.noble.ts`],
]
