/** The command line and the environment. */
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { nameOfCommand, nameOfUrl, readServers, SERVER_NAME, type Server } from "./servers.ts"
import { PIN_MODES, type PinMode } from "./tool-pins.ts"

export const HELP = `Runseal in front of an MCP server: a permit before each tool call, a sealed record after it.

  npx @runseal/mcp [options] -- <command> [arguments]      a stdio server
  npx @runseal/mcp [options] --upstream <url>              a Streamable HTTP server, for an agent that speaks stdio
  npx @runseal/mcp [options] --upstream <url> --listen 127.0.0.1:8808   the same, for an agent that speaks HTTP
  npx @runseal/mcp [options] --config <file> --server <name>   a server of a file in the mcpServers shape
  npx @runseal/mcp [options] --config <file> --listen <host:port>   all HTTP servers of the file, each at /<name>
  npx @runseal/mcp --config <file> --print-config          the file with every server behind the gateway

  --name <name>          the server's name in routes, records and pins; by default from its command or address
  --header <name: value> header for the upstream; repeatable; \${NAME} is replaced by the variable
  --mode <mode>          enforce (default) or observe: forward every call, whatever the decision    RUNSEAL_MODE
  --fail <how>           closed (default) or open: what happens without an answer of the service    RUNSEAL_FAIL
  --pin <how>            refuse (default), mark or off: a tool whose definition changed since it was first seen
  --pins <file>          file of the pins; by default pins.json in the data folder
  --call-timeout <s>     longest tool call, 1 to 3600 seconds; 300 by default
  --data-dir <folder>    data of the embedded service and the pins; by default $XDG_DATA_HOME/runseal/mcp
  RUNSEAL_URL, RUNSEAL_API_KEY         the service; without RUNSEAL_URL an embedded one is started
  RUNSEAL_CAPTURE_CONTENT=false        the service gets the hash of a result alone: no result is reviewed
`

const FLAGS = {
  upstream: { type: "string" },
  listen: { type: "string" },
  config: { type: "string" },
  server: { type: "string" },
  "print-config": { type: "boolean" },
  name: { type: "string" },
  header: { type: "string", multiple: true },
  mode: { type: "string" },
  fail: { type: "string" },
  pin: { type: "string" },
  pins: { type: "string" },
  "call-timeout": { type: "string" },
  "data-dir": { type: "string" },
  help: { type: "boolean", short: "h" },
} as const

export type Options = {
  readonly servers: readonly Server[]
  /** Where an agent reaches the gateway over HTTP; undefined: stdio. */
  readonly listen: { readonly host: string; readonly port: number } | undefined
  readonly mode: "observe" | "enforce"
  readonly fail: "open" | "closed"
  readonly pin: PinMode
  readonly pinsFile: string
  readonly callSeconds: number
  readonly dataDir: string
  readonly content: boolean
  readonly printConfig: string | undefined
}

/** What is wrong with the command line, as a sentence for the user. */
export class OptionError extends Error {}

type Environment = Readonly<Record<string, string | undefined>>

/** @returns undefined when help is asked for. @throws OptionError */
export function readOptions(words: readonly string[], env: Environment): Options | undefined {
  const end = words.indexOf("--")
  const [own, command] = end < 0 ? [words, []] : [words.slice(0, end), words.slice(end + 1)]
  const { values } = parse(own)
  if (values.help === true) return undefined
  const dataDir = resolve(values["data-dir"] ?? join(dataHome(env), "runseal", "mcp"))
  const listen = values.listen === undefined ? undefined : addressOf(values.listen)
  const servers = serversOf(values, command)
  if (values["print-config"] !== true) {
    if (listen === undefined && servers.length !== 1) throw new OptionError("--server names one server of the file")
    if (listen !== undefined && servers.some(({ how }) => "command" in how))
      throw new OptionError("--listen serves HTTP servers; start a stdio server with --server, without --listen")
  }
  return {
    servers,
    listen,
    mode: choice("--mode", values.mode ?? env.RUNSEAL_MODE ?? "enforce", ["enforce", "observe"]),
    fail: choice("--fail", values.fail ?? env.RUNSEAL_FAIL ?? "closed", ["closed", "open"]),
    pin: choice("--pin", values.pin ?? "refuse", PIN_MODES),
    pinsFile: resolve(values.pins ?? join(dataDir, "pins.json")),
    callSeconds: seconds(values["call-timeout"] ?? "300"),
    dataDir,
    content: choice("RUNSEAL_CAPTURE_CONTENT", env.RUNSEAL_CAPTURE_CONTENT ?? "true", ["true", "false"]) === "true",
    printConfig: values["print-config"] === true ? resolve(values.config ?? "") : undefined,
  }
}

const dataHome = (env: Environment): string => env.XDG_DATA_HOME ?? join(homedir(), ".local", "share")

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: FLAGS, strict: true })
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : "the command line cannot be read")
  }
}

type Values = ReturnType<typeof parse>["values"]

function serversOf(values: Values, command: readonly string[]): readonly Server[] {
  const { upstream, config, server, name } = values
  if ([upstream, config].filter(one => one !== undefined).length + (command.length > 0 ? 1 : 0) !== 1)
    throw new OptionError("name one of: a command after --, --upstream, --config")
  if (name !== undefined && !SERVER_NAME.test(name)) throw new OptionError("--name is 1 to 64 letters, digits, . _ -")
  if (config !== undefined) {
    const all = readServers(config)
    const chosen = server === undefined ? all : all.filter(one => one.name === server)
    if (chosen.length === 0) throw new OptionError(`${config} has no such server`)
    return chosen
  }
  const [program, ...args] = command
  if (program !== undefined) return [{ name: name ?? nameOfCommand(command), how: { command: program, args } }]
  const url = upstream ?? ""
  if (!/^https?:/.test(url) || !URL.canParse(url)) throw new OptionError("--upstream is an http or https address")
  return [{ name: name ?? nameOfUrl(url), how: { url, headers: headersOf(values.header ?? []) } }]
}

function headersOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map(line => {
      const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(line) ?? []
      if (name === undefined || value === undefined) throw new OptionError("--header is a name, a colon and a value")
      return [name, value.replace(/\$\{(\w+)\}/g, (whole, variable: string) => process.env[variable] ?? whole)]
    }),
  )
}

function addressOf(text: string): { readonly host: string; readonly port: number } {
  const [, host, port] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || Number(port) > 65_535) throw new OptionError("--listen is a port, or a host and a port")
  return { host: host ?? "127.0.0.1", port: Number(port) }
}

function seconds(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1 || count > 3600)
    throw new OptionError("--call-timeout is an integer from 1 to 3600")
  return count
}

function choice<const Choice extends string>(name: string, value: string, choices: readonly Choice[]): Choice {
  const found = choices.find(one => one === value)
  if (found === undefined) throw new OptionError(`${name} is one of ${choices.join(", ")}`)
  return found
}
