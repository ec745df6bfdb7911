/** Where each agent has its hooks, and in what form: docs of the agents, as docs/doors names them. */
import { homedir } from "node:os"
import { join } from "node:path"
import type { JsonObject } from "@runseal/canonical"
import type { AgentName } from "./event-command.ts"

export type Scope = "user" | "project"

export type AgentSettings = {
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

export const SETTINGS: Readonly<Record<AgentName, AgentSettings>> = {
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
export const settingsFile = (name: AgentName, scope: Scope, project: string): string =>
  join(scope === "user" ? homedir() : project, SETTINGS[name].folder, SETTINGS[name].file)
