/** `runseal-hooks install` and `uninstall`: the settings of an agent with our hooks, or without them, and every other setting as it was. */
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { SETTINGS } from "./agent-settings.ts"
import type { AgentName } from "./event-command.ts"

/** By it an entry of ours is found again. */
const MARK = "runseal-hooks.js"

/** A word for the shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** The command of a hook: with whole paths, since agents start it in any folder and with any PATH. */
export function hookCommand(program: string, name: AgentName, url: string, query: string): string {
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
export function changedSettings(name: AgentName, before: JsonObject, command: string | undefined): JsonObject {
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
export function readSettings(file: string): JsonObject {
  if (!existsSync(file)) return {}
  try {
    const value: JsonValue = JSON.parse(readFileSync(file, "utf8"))
    if (isObject(value)) return value
  } catch {
    // Below.
  }
  throw new Error(`${file} is no JSON object without comments: correct it first`)
}

export const settingsText = (settings: JsonObject): string => `${JSON.stringify(settings, null, 2)}\n`

/** Replaces the file in one step; a link stays a link. */
export function writeSettings(file: string, settings: JsonObject): void {
  mkdirSync(dirname(file), { recursive: true })
  const target = existsSync(file) ? realpathSync(file) : file
  writeFileSync(`${target}.${process.pid}`, settingsText(settings))
  renameSync(`${target}.${process.pid}`, target)
}
