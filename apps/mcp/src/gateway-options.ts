/** The command line and the environment. */
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import * as v from "valibot"
import { httpSchema, nameOfCommand, nameOfUrl, nameSchema, readServers, type Server } from "./servers.ts"
import { PIN_MODES } from "./tool-pins.ts"

export const HELP = `Runseal in front of an MCP server: a permit before each tool call, a sealed record after it.

  runseal-mcp [options] -- <command> [arguments]      a stdio server
  runseal-mcp [options] --upstream <url>              a Streamable HTTP server, for an agent that speaks stdio
  runseal-mcp [options] --upstream <url> --listen 127.0.0.1:8808   the same, for an agent that speaks HTTP
  runseal-mcp [options] --config <file> --server <name>   a server of a file in the mcpServers shape
  runseal-mcp [options] --config <file> --listen <host:port>   all HTTP servers of the file, each at /<name>
  runseal-mcp --config <file> --print-config          the file with every server behind the gateway
  runseal-mcp --print-acts -- <command> [arguments]   act tables for the tools of a server: the beginning of a policy

  --name <name>          the server's name in routes, records and pins; by default from its command or address
  --header <name: value> header for the upstream; repeatable; \${NAME} is replaced by the variable
  --mode <mode>          enforce (default) or observe: forward every call, whatever the decision    RUNSEAL_MODE
  --fail <how>           closed (default) or open: what happens without an answer of the service    RUNSEAL_FAIL
  --pin <how>            refuse (default), mark or off: a tool whose definition changed since it was first seen
  --run-as <user>        the user as whom a stdio server runs, where the gateway runs as root; by default its own user
  --end-user-from authorization   with --listen: the agent's bearer token is the access token of the person for whom it acts
  --call-timeout <s>     longest tool call, 1 to 3600 seconds; 300 by default
  --approval-wait <s>    seconds that a call waits until people have decided on it, 0 to 600; 0 by default
  --data-dir <folder>    data of the embedded service and the pins; by default $XDG_DATA_HOME/runseal/mcp
  RUNSEAL_TIMEOUT=2                    seconds that a call waits for its decision; by default 10, and 2 with --fail open and --mode observe
  RUNSEAL_URL, RUNSEAL_API_KEY         the service; without RUNSEAL_URL an embedded one is started
  RUNSEAL_CAPTURE_CONTENT=false        results are not sent to the service: their hashes are declared, and none is searched or reviewed
`

const FLAGS = {
  upstream: { type: "string" },
  listen: { type: "string" },
  config: { type: "string" },
  server: { type: "string" },
  "print-config": { type: "boolean", default: false },
  "print-acts": { type: "boolean", default: false },
  name: { type: "string" },
  header: { type: "string", multiple: true },
  mode: { type: "string" },
  fail: { type: "string" },
  pin: { type: "string", default: "refuse" },
  "run-as": { type: "string" },
  "end-user-from": { type: "string" },
  "call-timeout": { type: "string", default: "300" },
  "approval-wait": { type: "string", default: "0" },
  "data-dir": { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const

const settingsSchema = v.object({
  mode: v.picklist(["enforce", "observe"], "--mode is one of enforce, observe"),
  fail: v.picklist(["closed", "open"], "--fail is one of closed, open"),
  pin: v.picklist(PIN_MODES, "--pin is one of refuse, mark, off"),
  endUserFrom: v.optional(v.picklist(["authorization"], "--end-user-from is authorization")),
  callSeconds: v.pipe(
    v.string(),
    v.regex(/^\d{1,4}$/, "--call-timeout is an integer from 1 to 3600"),
    v.transform(Number),
    v.minValue(1, "--call-timeout is an integer from 1 to 3600"),
    v.maxValue(3600, "--call-timeout is an integer from 1 to 3600"),
  ),
  approvalSeconds: v.pipe(
    v.string(),
    v.regex(/^\d{1,3}$/, "--approval-wait is an integer from 0 to 600"),
    v.transform(Number),
    v.maxValue(600, "--approval-wait is an integer from 0 to 600"),
  ),
  content: v.pipe(
    v.picklist(["true", "false"], "RUNSEAL_CAPTURE_CONTENT is one of true, false"),
    v.transform(value => value === "true"),
  ),
})

export type Address = { readonly host: string; readonly port: number }
export type Options = v.InferOutput<typeof settingsSchema> & {
  readonly servers: readonly Server[]
  /** Where an agent reaches the gateway over HTTP; undefined: stdio. */
  readonly listen: Address | undefined
  readonly dataDir: string
  /** Name of the user as whom a stdio server runs; undefined: as the gateway. */
  readonly runAs: string | undefined
  /** The file whose servers are printed, each behind the gateway. */
  readonly printed: string | undefined
  /** Whether act tables of the server's tools are printed, and no gateway starts. */
  readonly printsActs: boolean
}

/** @returns undefined when help is asked for. @throws Error with a sentence for the user */
export function readOptions(words: readonly string[], env: NodeJS.ProcessEnv): Options | undefined {
  const end = words.includes("--") ? words.indexOf("--") : words.length
  const { values } = parse(words.slice(0, end))
  if (values.help) return undefined
  const settings = v.safeParse(settingsSchema, {
    mode: values.mode ?? env.RUNSEAL_MODE ?? "enforce",
    fail: values.fail ?? env.RUNSEAL_FAIL ?? "closed",
    pin: values.pin,
    endUserFrom: values["end-user-from"],
    callSeconds: values["call-timeout"],
    approvalSeconds: values["approval-wait"],
    content: env.RUNSEAL_CAPTURE_CONTENT ?? "true",
  })
  if (!settings.success) throw new Error(settings.issues[0].message)
  const servers = serversOf(values, words.slice(end + 1))
  const listen = values.listen === undefined ? undefined : addressOf(values.listen)
  if (listen === undefined && settings.output.endUserFrom !== undefined)
    throw new Error("--end-user-from needs --listen: an agent that speaks stdio sends no header")
  const printed = values["print-config"] ? resolve(values.config ?? "") : undefined
  const printsActs = values["print-acts"]
  if (printed === undefined && (listen === undefined || printsActs) && servers.length !== 1)
    throw new Error("--server names one server of the file")
  const dataHome = env.XDG_DATA_HOME ?? join(homedir(), ".local", "share")
  const dataDir = resolve(values["data-dir"] ?? join(dataHome, "runseal", "mcp"))
  const runAs = values["run-as"]
  if (runAs !== undefined && !servers.some(({ how }) => "command" in how))
    throw new Error("--run-as is for a server that is a command")
  return { ...settings.output, servers, listen, dataDir, printed, printsActs, runAs }
}

const parse = (args: string[]) => parseArgs({ args, options: FLAGS, strict: true })
type Values = ReturnType<typeof parse>["values"]

function serversOf(values: Values, command: readonly string[]): readonly Server[] {
  const { upstream, config, server, name } = values
  if ([upstream, config, command[0]].filter(one => one !== undefined).length !== 1)
    throw new Error("name one of: a command after --, --upstream, --config")
  if (name !== undefined && !v.is(nameSchema, name)) throw new Error("--name is 1 to 64 letters, digits, . _ -")
  const [program, ...args] = command
  if (program !== undefined) {
    if (values.listen !== undefined) throw new Error("--listen is for servers that speak HTTP")
    return [{ name: name ?? nameOfCommand(command), how: { command: program, args } }]
  }
  if (config !== undefined) {
    const isAsked = (one: Server): boolean => server === undefined || one.name === server
    const found = readServers(config).filter(isAsked)
    if (found.length === 0) throw new Error(`${config} has no such server`)
    if (values.listen !== undefined && found.some(({ how }) => "command" in how))
      throw new Error("--listen is for servers that speak HTTP; start a stdio server with --server, without --listen")
    return found
  }
  const headers = (values.header ?? []).map(line => {
    const [, header, value] = /^([\w-]+):\s*(.*)$/.exec(line) ?? []
    if (header === undefined || value === undefined) throw new Error("--header is a name, a colon and a value")
    return [header, value] as const
  })
  const how = v.safeParse(httpSchema, { url: upstream, headers: Object.fromEntries(headers) })
  if (!how.success) throw new Error("--upstream is an http or https address")
  return [{ name: name ?? nameOfUrl(how.output.url), how: how.output }]
}

function addressOf(text: string): Address {
  const [, host = "127.0.0.1", port] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || Number(port) > 65_535) throw new Error("--listen is a port, or a host and a port")
  return { host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port) }
}
