import { posix } from "node:path"
import {
  CANONICAL,
  FORMULAS,
  HOUSES,
  LOG,
  PACKAGE_SOURCES,
  PDF,
  ROOMS,
  type Room,
  server,
  VERIFY_PAGE,
} from "./rooms.ts"
import { type ImportStatement, lineOf } from "./scan-source.ts"
import { isTest, isWithin, type SourceFile, type Violation } from "./source-file.ts"

/** Every import of `file` from a room that its own room may not import, or of a package that its room may not use. */
export function checkRooms(file: SourceFile): Violation[] {
  if (!HOUSES.some(house => isWithin(file.path, house))) return []
  const room = roomOf(file.path)
  const folder = posix.dirname(file.path)
  if (room === undefined || (room.flat && folder !== room.path)) {
    return [{ path: file.path, line: 1, rule: `room: ${folder} has no row in tools/src/rooms/rooms.ts` }]
  }
  return file.imports.flatMap(statement =>
    [forbiddenRoom(file, room, statement), ...PACKAGE_RULES.map(rule => forbiddenPackage(file, rule, statement))]
      .filter(rule => rule !== undefined)
      .map(rule => ({ path: file.path, line: lineOf(file.text, statement.at), rule })),
  )
}

/** The room a file belongs to: the row with the longest path. */
export function roomOf(path: string): Room | undefined {
  return ROOMS.filter(room => isWithin(path, room.path)).sort((a, b) => b.path.length - a.path.length)[0]
}

function forbiddenRoom(file: SourceFile, room: Room, statement: ImportStatement): string | undefined {
  const target = targetOf(file.path, statement.specifier)
  if (target === undefined || roomOf(target) === room) return undefined
  const allowed = isTest(file.path) ? [...room.enters, ...(room.testsEnter ?? []), packageOf(file.path)] : room.enters
  if (allowed.some(place => isWithin(target, place))) return undefined
  return `room: ${room.path} may not enter ${target}`
}

/** Path of the file an import of ours means, without regard to its extension; undefined for packages of others. */
export function targetOf(importer: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(importer), specifier)
  const [name, path] = PACKAGE_SOURCES.find(([candidate]) => isWithin(specifier, candidate)) ?? []
  return name === undefined || path === undefined ? undefined : path + specifier.slice(name.length)
}

/** `libs/core` of `libs/core/src/wire/run-summaries.ts`. */
function packageOf(path: string): string {
  return path.split("/", /^(?:tools|lab)\//.test(path) ? 1 : 2).join("/")
}

function forbiddenPackage(file: SourceFile, rule: PackageRule, statement: ImportStatement): string | undefined {
  if (isTest(file.path) || rule.except?.test(file.path) || !rule.modules.test(statement.specifier)) return undefined
  if (rule.names !== undefined && !statement.names.some(name => rule.names?.test(name))) return undefined
  const within = (place: string): boolean => isWithin(file.path, place)
  const welcome = rule.only === undefined ? !rule.never?.some(within) : rule.only.some(within)
  return welcome ? undefined : `package: ${rule.name} (${statement.specifier}) may not be imported here`
}

// Which packages stay in which rooms.

interface PackageRule {
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

const NO_DATABASE = [...["pipeline", "http", "policy", "review", "report"].map(server), "apps/verifier-cli"]

/** Programs that test, measure and show the service; nobody else runs them. */
const PROGRAMS_OF_OURS = ["lab", "tools", "examples", "apps/server/cluster", "apps/server/spec"]

/** Packages and the rooms they stay in; tests are free. */
const PACKAGE_RULES: readonly PackageRule[] = [
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
      server("http/access"),
      `${PDF}/file/check-sum.node.ts`,
      // It replaces what Node has of random numbers by hashes of a counter.
      "lab/src/answers",
    ],
  },
  { name: "the database", modules: /^(?:drizzle-orm|postgres|@electric-sql\/pglite)(?:\/|$)/, never: NO_DATABASE },
  {
    name: "HTTP",
    modules: /^(?:hono|@hono\/[\w-]+|hono-openapi)(?:\/|$)/,
    never: ["libs", ...["store", "pipeline", "policy", "review", "sealing", "keys", "report"].map(server)],
  },
  // The rooms report to the telemetry: how it is counted is no business of theirs.
  { name: "Prometheus", modules: /^prom-client(?:\/|$)/, only: [server("http/metrics")] },
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
      server("outbound/deliveries/receivers.ts"),
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
