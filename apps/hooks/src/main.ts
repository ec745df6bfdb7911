/** The command `runseal-hooks`. */
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { AGENTS, type AgentName, answerEvent, EVENT_MAX_BYTES } from "./event-command.ts"
import { startRelay } from "./relay.ts"

const HELP = `Hooks of agents: each call of a tool is decided before it is made, and sealed after it.

  runseal-hooks install --for <agent> [--url <service>] [options]    writes the hooks into the settings of the agent
  runseal-hooks uninstall --for <agent> [options]                    takes them out again
  runseal-hooks relay --url <service> --listen 127.0.0.1:<port>      for a service in another network; holds RUNSEAL_API_KEY
  runseal-hooks event --for <agent> [--url <service>]                what the agent starts: one event on standard input

  <agent>                claude-code, codex, gemini-cli, cursor
  --url <address>        the service or a relay; by default RUNSEAL_URL, or http://127.0.0.1:8080
  --scope <scope>        user (default) or project: the settings in your home, or those of the folder you are in
  --settings <text>      as in the address of POST /hooks/claude-code: 'mode=observe&capture_content=true'
  --dry-run              shows what would be written, and writes nothing
  RUNSEAL_API_KEY        the key for the service, read when a hook runs
  RUNSEAL_END_USER_TOKEN_FILE   a file with the access token of the person for whom the agent acts, read when a hook runs
`

const FLAGS = {
  for: { type: "string" },
  url: { type: "string" },
  listen: { type: "string" },
  scope: { type: "string", default: "user" },
  settings: { type: "string", default: "" },
  "dry-run": { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const

const parse = (args: string[]) => parseArgs({ args, options: FLAGS, strict: true, allowPositionals: true })
type Values = ReturnType<typeof parse>["values"]

const say = (sentence: string): void => void process.stderr.write(`runseal-hooks: ${sentence}\n`)
const isAgent = (name: string | undefined): name is AgentName => name !== undefined && name in AGENTS

async function main(): Promise<void> {
  const { values, positionals } = parse(process.argv.slice(2))
  const [command, ...others] = positionals
  if (values.help || command === undefined || others.length > 0) {
    process.stdout.write(HELP)
    return
  }
  switch (command) {
    case "event":
      return await event(values)
    case "install":
    case "uninstall":
      return install(values, command)
    case "relay":
      return await relay(values)
    default:
      throw new Error("the command is install, uninstall, relay or event")
  }
}

function agentOf({ for: name }: Values): AgentName {
  if (isAgent(name)) return name
  throw new Error(`--for is one of ${Object.keys(AGENTS).join(", ")}`)
}

function urlOf({ url = process.env.RUNSEAL_URL ?? "http://127.0.0.1:8080" }: Values): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return new URL(url).origin
  throw new Error("--url is an http or https address")
}

async function event(values: Values): Promise<void> {
  let text = ""
  for await (const chunk of process.stdin.setEncoding("utf8")) {
    text += chunk
    if (text.length > EVENT_MAX_BYTES) break
  }
  const apiKey = process.env.RUNSEAL_API_KEY
  const asked = { url: urlOf(values), query: values.settings, apiKey, endUserToken: endUserToken() }
  const { output, problem, code } = await answerEvent(agentOf(values), text, asked)
  if (problem !== "") say(problem)
  process.stdout.write(output)
  process.exitCode = code
}

/** Read for each event, because tokens are renewed. @throws Error when there is none where the variable names one */
function endUserToken(file: string | undefined = process.env.RUNSEAL_END_USER_TOKEN_FILE): string | undefined {
  if (file === undefined || file === "") return undefined
  try {
    return readFileSync(file, "utf8").trim()
  } catch {
    throw new Error("RUNSEAL_END_USER_TOKEN_FILE names a file that cannot be read")
  }
}

function install(values: Values, command: "install" | "uninstall"): void {
  const name = agentOf(values)
  const { scope } = values
  if (scope !== "user" && scope !== "project") throw new Error("--scope is user or project")
  if (command === "install" && scope === "user" && !existsSync(join(homedir(), SETTINGS[name].folder)))
    throw new Error(`there is no ${SETTINGS[name].folder} in your home: start the agent once, or use --scope project`)
  const [, program = ""] = process.argv
  const file = settingsFile(name, scope, process.cwd())
  const before = readSettings(file)
  const own =
    command === "install" ? hookCommand(realpathSync(program), name, urlOf(values), values.settings) : undefined
  const after = changedSettings(name, before, own)
  if (settingsText(after) === settingsText(before)) {
    say(`${file} needs no change`)
    return
  }
  process.stdout.write(settingsText(after))
  if (!values["dry-run"]) writeSettings(file, after)
  say(values["dry-run"] ? `nothing is written; ${file} would have these settings` : `${file} has these settings now`)
  const note = command === "install" ? SETTINGS[name].note : ""
  if (note !== "") say(note)
}

async function relay(values: Values): Promise<void> {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(values.listen ?? "") ?? []
  if (host === undefined || Number(port) > 65_535)
    throw new Error("--listen is an address of this machine: 127.0.0.1:PORT")
  const apiKey = process.env.RUNSEAL_API_KEY
  const started = await startRelay({
    url: urlOf(values),
    apiKey,
    host: host.replace(/^\[(.*)\]$/, "$1"),
    port: Number(port),
  })
  say(`listening on ${started.url}, for ${urlOf(values)}${apiKey === undefined ? ", without a key" : ""}`)
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void started.stop())
}

// Where each agent has its hooks, and in what form: docs of the agents, as docs/doors names them.

type Scope = "user" | "project"

type AgentSettings = {
  /** Folder of the agent in the home of a user, and in a project. */
  readonly folder: string
  readonly file: string
  readonly events: readonly string[]
  /** The entry of one event, whose command has the time of a decision. */
  readonly entry: (command: string) => JsonObject
  /** Members that the file must have beside `hooks`. */
  readonly others: JsonObject
  /** What the user has to do after the installation; empty: nothing. */
  readonly note: string
}

/** Seconds that an agent waits for a hook: longer than a decision takes. */
const TIMEOUT_SECONDS = 30

const grouped = (timeout: number) => (command: string) => ({ hooks: [{ type: "command", command, timeout }] })

const SETTINGS: Readonly<Record<AgentName, AgentSettings>> = {
  "claude-code": {
    folder: ".claude",
    file: "settings.json",
    events: ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied"],
    entry: grouped(TIMEOUT_SECONDS),
    others: {},
    note: "",
  },
  codex: {
    folder: ".codex",
    file: "hooks.json",
    events: ["PreToolUse", "PostToolUse"],
    entry: grouped(TIMEOUT_SECONDS),
    others: {},
    note: "Codex runs no hook before you trust it: start codex and agree, since codex exec skips new hooks without a word",
  },
  "gemini-cli": {
    folder: ".gemini",
    file: "settings.json",
    events: ["BeforeTool", "AfterTool"],
    entry: grouped(TIMEOUT_SECONDS * 1_000),
    others: {},
    note: "",
  },
  cursor: {
    folder: ".cursor",
    file: "hooks.json",
    events: ["beforeShellExecution", "afterShellExecution", "beforeMCPExecution", "afterMCPExecution"],
    entry: command => ({ command, type: "command", timeout: TIMEOUT_SECONDS }),
    others: { version: 1 },
    note: "this was not run with Cursor: check that a run appears after the first command of the agent",
  },
}

/** The file of the settings. @param project folder of the project */
const settingsFile = (name: AgentName, scope: Scope, project: string): string =>
  join(scope === "user" ? homedir() : project, SETTINGS[name].folder, SETTINGS[name].file)

// `runseal-hooks install` and `uninstall`: the settings of an agent with our hooks, or without them, and every other setting as it was.

/** By it an entry of ours is found again. */
const MARK = "runseal-hooks.js"

/** A word for the shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** The command of a hook: with whole paths, since agents start it in any folder and with any PATH. */
function hookCommand(program: string, name: AgentName, url: string, query: string): string {
  const settings = query === "" ? [] : ["--settings", query]
  return [process.execPath, program, "event", "--for", name, "--url", url, ...settings].map(quoted).join(" ")
}

/** Whether an entry of an event, or one of its hooks, starts our command. */
const isOurs = (entry: JsonValue): boolean =>
  isObject(entry) &&
  ((typeof entry.command === "string" && entry.command.includes(MARK)) ||
    (Array.isArray(entry.hooks) && entry.hooks.length > 0 && entry.hooks.every(isOurs)))

/**
 * @param command undefined: without our hooks
 * @throws Error with a sentence for the user when the hooks are in a form that is not the agent's
 */
function changedSettings(name: AgentName, before: JsonObject, command: string | undefined): JsonObject {
  const { events, entry, others } = SETTINGS[name]
  const { hooks = {} } = before
  if (!isObject(hooks)) throw new Error("hooks of the settings are no object: correct the file first")
  const changed: Record<string, JsonValue> = { ...hooks }
  for (const event of new Set([...events, ...Object.keys(hooks)])) {
    const entries = changed[event] ?? []
    if (!Array.isArray(entries)) throw new Error("hooks of an event are no list: correct the file first")
    const isInstalled = command !== undefined && events.includes(event)
    const foreign = entries.filter(one => !isOurs(one))
    const all = isInstalled ? [...foreign, entry(command)] : foreign
    if (all.length > 0) changed[event] = all
    else delete changed[event]
  }
  const { hooks: _, ...rest } = before
  if (Object.keys(changed).length === 0) return rest
  return { ...(command === undefined ? {} : others), ...before, hooks: changed }
}

/** @throws Error with a sentence for the user when the file holds no JSON object */
function readSettings(file: string): JsonObject {
  if (!existsSync(file)) return {}
  try {
    const value: JsonValue = JSON.parse(readFileSync(file, "utf8"))
    if (isObject(value)) return value
  } catch {
    // Below.
  }
  throw new Error(`${file} is no JSON object without comments: correct it first`)
}

const settingsText = (settings: JsonObject): string => `${JSON.stringify(settings, null, 2)}\n`

/** Replaces the file in one step; a link stays a link. */
function writeSettings(file: string, settings: JsonObject): void {
  mkdirSync(dirname(file), { recursive: true })
  const target = existsSync(file) ? realpathSync(file) : file
  writeFileSync(`${target}.${process.pid}`, settingsText(settings))
  renameSync(`${target}.${process.pid}`, target)
}

try {
  await main()
} catch (error) {
  say(error instanceof Error ? error.message : "a bug")
  // A call whose hook cannot work is not made.
  process.exitCode = 2
}
