/** `runseal-hooks event`: one event of an agent, read from standard input, decided at the service, answered in the agent's words. */

import { randomUUID } from "node:crypto"
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { digest, type JsonObject, parseStrictJson } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { END_USER_HEADER } from "@runseal/core/wire/end-user-token"
import { hookQuerySchema } from "@runseal/core/wire/hook-requests"
import * as v from "valibot"
import type { ParseHook } from "./agent-events.ts"
import { claudeCode } from "./claude-code.ts"
import { codex } from "./codex.ts"
import { cursor } from "./cursor.ts"
import { geminiCli } from "./gemini-cli.ts"
import { type AgentOf, hooksApp } from "./hooks-app.ts"
import { askService } from "./service-request.ts"

/** By the names that `--for` takes. `namesCalls`: its hooks have an id of the call. */
export const AGENTS = {
  "claude-code": { agent: claudeCode, namesCalls: true },
  codex: { agent: codex, namesCalls: true },
  "gemini-cli": { agent: geminiCli, namesCalls: false },
  cursor: { agent: cursor, namesCalls: false },
} as const satisfies Readonly<Record<string, { readonly agent: AgentOf; readonly namesCalls: boolean }>>
export type AgentName = keyof typeof AGENTS

/** Largest event, in bytes: that of the service's own address for hooks. */
export const EVENT_MAX_BYTES = 4_194_304

export type Answered = {
  /** For standard output: the agent's words. */
  readonly output: string
  /** For standard error; empty when all is well. */
  readonly problem: string
  /** 2 stops a call in each of these agents; with 1 it goes on. */
  readonly code: 0 | 1 | 2
}

class Unfit extends Error {
  override readonly name = "Unfit"
}

const parse: ParseHook = (schema, body) => {
  const parsed = v.safeParse(schema, body)
  if (!parsed.success) throw new Unfit("The hook reports a call in a form that is not known.")
  return parsed.output
}

type EventSettings = {
  /** Of the service, or of a relay. */
  readonly url: string
  /** The settings, as in the address of `POST /hooks/claude-code`. */
  readonly query: string
  readonly apiKey: string | undefined
  /** Of the person for whom the agent acts. */
  readonly endUserToken: string | undefined
}

export async function answerEvent(
  name: AgentName,
  text: string,
  { url, query, apiKey, endUserToken }: EventSettings,
): Promise<Answered> {
  const { agent, namesCalls } = AGENTS[name]
  const settings = Object.fromEntries(new URLSearchParams(query))
  const goesOn = settings.mode === "observe" || settings.fail === "open"
  const { isBefore } = agent(parse)
  let isCall = true
  const app = hooksApp(
    {
      fetch: askService,
      settings: () => parse(hookQuerySchema, settings),
      parse,
      read: async () => {
        const body = readEvent(text)
        isCall = isBefore(body)
        return namesCalls ? body : { ...body, call_id: callIdOf(body, isCall) }
      },
      refusal: error => (error instanceof Unfit ? { status: 400, message: error.message } : undefined),
    },
    [agent],
  )
  let problem = "The event could not be handled."
  app.onError((error, c) => {
    if (error instanceof Unfit) problem = error.message
    return c.body(null, 500)
  })
  const headers = {
    ...(apiKey === undefined ? {} : { "X-Service-Key": apiKey }),
    ...(endUserToken === undefined ? {} : { [END_USER_HEADER]: endUserToken }),
  }
  const answer = await app.request(new Request(new URL(`/hooks/${name}`, url), { method: "POST", headers }))
  const body = await answer.text()
  if (answer.status === 200) return { output: body, problem: "", code: 0 }
  const sentence = sentenceOf(body) ?? problem
  if (isCall && answer.status === 500 && !goesOn) return { output: "", problem: sentence, code: 2 }
  return { output: "{}", problem: sentence, code: isCall ? 0 : 1 }
}

/** @throws Unfit for what is no JSON object */
function readEvent(text: string): JsonObject {
  try {
    const body = parseStrictJson(text, { acceptsNegativeZero: true, maxBytes: EVENT_MAX_BYTES })
    if (isObject(body)) return body
  } catch {
    // Below.
  }
  throw new Unfit("The event is no JSON object of 4 MiB at most.")
}

/** The error of an answer of the service. */
function sentenceOf(body: string): string | undefined {
  try {
    const { error } = Object(JSON.parse(body))
    return typeof error === "string" ? error : undefined
  } catch {
    return undefined
  }
}

// An id for each call of an agent whose hooks do not name it. The command that runs before a call makes one and stores it in a file; the one that runs
// after it, with the same tool and arguments, takes the newest. Of two equal calls at a time each may take that of the other.

/** Milliseconds after which a call has no end any more: that of a permit. */
const STORED_MS = 2 * 3_600_000
/** Ids that are stored; the oldest are deleted first. */
const STORED_MAX = 10_000

/** Members that say which call it is, before and after it. */
const MEMBERS = ["session_id", "conversation_id", "generation_id", "tool_name", "tool_input", "command"]

/** @param isBefore whether the call is about to be done @param folder for the ids */
function callIdOf(body: JsonObject, isBefore: boolean, folder: string = stateFolder()): string {
  const call = digest(MEMBERS.map(name => body[name] ?? null))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (isBefore) {
    const id = randomUUID()
    writeFileSync(join(folder, `${call}.${id}`), "", { mode: 0o600 })
    tidy(folder)
    return id
  }
  const [newest] = byAge(
    folder,
    readdirSync(folder).filter(name => name.startsWith(`${call}.`)),
  )
  // An act for which nobody asked has an id of its own.
  if (newest === undefined) return randomUUID()
  rmSync(join(folder, newest.name), { force: true })
  return newest.name.slice(call.length + 1)
}

const stateFolder = (): string =>
  join(process.env.XDG_STATE_HOME ?? join(homedir(), ".local", "state"), "runseal", "hooks")

const byAge = (folder: string, names: readonly string[]): readonly { readonly name: string; readonly at: number }[] =>
  names
    .map(name => ({ name, at: statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((a, b) => b.at - a.at)

function tidy(folder: string): void {
  const names = readdirSync(folder)
  if (names.length < STORED_MAX / 10) return
  for (const [place, { name, at }] of byAge(folder, names).entries())
    if (place >= STORED_MAX || Date.now() - at > STORED_MS) rmSync(join(folder, name), { force: true })
}
