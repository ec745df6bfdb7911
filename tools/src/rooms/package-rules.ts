/** Which packages stay in which rooms. */
import { CANONICAL, FORMULAS, LOG, PDF, server, VERIFY_PAGE } from "./rooms.ts"

export interface PackageRule {
  /** Name of the confined packages, for the message. */
  readonly name: string
  /** The confined modules. */
  readonly modules: RegExp
  /** Only these names are confined; an import of the whole module always is. */
  readonly names?: RegExp
  /** The only rooms or files that may import them, or … */
  readonly only?: readonly string[]
  /** … the rooms and files that may not. */
  readonly never?: readonly string[]
  /** File names the rule does not bind. */
  readonly except?: RegExp
}

const NO_DATABASE = [
  ...["run/pipeline", "front/routes", "front/http", "run/policy", "run/review", "report"].map(server),
  "apps/verifier-cli",
]

/** Programs that test, measure and show the service; nobody else runs them. */
const PROGRAMS_OF_OURS = ["lab", "tools", "examples", "apps/server/cluster", "apps/server/spec"]

/** Packages and the rooms they stay in; tests are free. */
export const PACKAGE_RULES: readonly PackageRule[] = [
  // A *.node.ts file is loaded by Node alone, chosen by its package's import conditions.
  { name: "Node's own modules", modules: /^node:/, never: ["libs", VERIFY_PAGE], except: /\.node\.ts$/ },
  {
    name: "hashing",
    modules: /^(?:node:crypto|crypto|@noble\/hashes\b.*)$/,
    names: /^(?:createHash|hash|sha\d+|default|\*)$/,
    // Starting files compare the sources before they load any of them.
    only: [
      "apps/verifier-cli/bin",
      "tools/src/packing/is-fresh.cjs",
      CANONICAL,
      FORMULAS,
      LOG,
      server("keys"),
      server("front/access"),
      `${PDF}/file/check-sum.node.ts`,
    ],
  },
  { name: "the database", modules: /^(?:drizzle-orm|postgres|@electric-sql\/pglite)(?:\/|$)/, never: NO_DATABASE },
  {
    name: "HTTP",
    modules: /^(?:hono|@hono\/[\w-]+|hono-openapi)(?:\/|$)/,
    never: ["libs", ...["store", "run/pipeline", "run/policy", "run/review", "sealing", "keys", "report"].map(server)],
  },
  // The rooms report to the telemetry: how it is counted is no business of theirs.
  { name: "Prometheus", modules: /^prom-client(?:\/|$)/, only: [server("front/metrics")] },
  // A step says that it is followed: what becomes of that is no business of its room.
  { name: "OpenTelemetry", modules: /^@opentelemetry\//, only: [server("traces")] },
  // Besides these, tools/src/rooms/tidy-rules.ts has the files that fetch. docs/security-model.md, "Addresses that are asked".
  {
    name: "connections to other machines",
    modules:
      /^(?:node:)?(?:https?|http2|net|tls|dgram)$|^(?:undici|ws)$|^@opentelemetry\/exporter-|^@modelcontextprotocol\/client$/,
    names:
      /^(?:request|get|fetch|connect|createConnection|createSocket|Agent|\w+Transport|\w+Exporter|WebSocket|default|\*)$/,
    only: [
      server("abroad/deliveries/syslog-receiver.ts"),
      server("abroad/deliveries/webhook-receiver.ts"),
      server("store/driver/postgres-client.ts"),
      server("traces/open-traces.ts"),
      "apps/mcp/src/embedded-service.ts",
      "apps/mcp/src/http-server.ts",
      ...PROGRAMS_OF_OURS,
    ],
  },
  {
    name: "PDF code",
    modules: /^(?:pdf-lib|@cantoo\/pdf-lib|fontkit|@pdf-lib\/fontkit)(?:\/|$)/,
    only: [PDF],
  },
]
