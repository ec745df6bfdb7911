/** The real server as a process of its own: started, asked over sockets, stopped, killed. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { Agent, request as httpRequest } from "node:http"
import { fileURLToPath } from "node:url"
import type { JsonValue } from "@runseal/canonical"
import { parseStrictJson } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { expectDescribed } from "./described.ts"
import type { Answer } from "./read-answer.ts"

const MAIN = fileURLToPath(new URL("../../bin/runseal-server.js", import.meta.url))
/** A cold start makes the database; on a busy machine that takes its time. */
const START_DEADLINE_MS = 150_000

/** Requests a minute: suites ask more than a caller may. One that judges the limits gives the option again. */
const UNLIMITED = "1000000"

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

type Fields = Readonly<Record<string, string>>

export type Child = {
  readonly url: string
  readonly stdout: () => string
  readonly get: (path: string) => Promise<Answer>
  readonly post: (path: string, body: JsonValue, headers?: Fields) => Promise<Answer>
  /** Sends a signal and waits for the end. */
  readonly end: (signal: NodeJS.Signals) => Promise<Ended>
  /** Sends a signal and does not wait. */
  readonly signal: (signal: NodeJS.Signals) => void
  readonly ended: Promise<Ended>
}

type Started = {
  readonly process: ChildProcess
  readonly output: { out: string; err: string }
  readonly ended: Promise<Ended>
}

/** Servers that were started and have not ended. */
const running = new Set<Started>()

/** Kills every server that is still there, as a test leaves it when an assertion fails: the next one finds folder and port free. */
export async function endStrays(): Promise<void> {
  for (const { process: child } of running) child.kill("SIGKILL")
  await Promise.all([...running].map(({ ended }) => ended))
}

/** A command that runs another one with so many file descriptors. */
const within = (descriptors: number | undefined): readonly string[] =>
  descriptors === undefined ? [] : ["bash", "-c", `ulimit -n ${descriptors}; exec "$0" "$@"`]

function launch(options: readonly string[], env: NodeJS.ProcessEnv, descriptors?: number): Started {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(RUNSEAL|NODE|VITEST)/.test(name)))
  const [program, ...words] = [...within(descriptors), process.execPath, MAIN, ...options]
  const child = spawn(program ?? process.execPath, words, {
    env: { ...clean, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const output = { out: "", err: "" }
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.out += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.err += text))
  // A test process that ends early leaves no server behind.
  const kill = (): void => void child.kill("SIGKILL")
  process.once("exit", kill)
  const ended = once(child, "close").then(([code]: (number | null)[]) => {
    process.off("exit", kill)
    running.delete(started)
    return { code: code ?? null, stdout: output.out, stderr: output.err }
  })
  const started: Started = { process: child, output, ended }
  running.add(started)
  return started
}

/** Runs the server to its own end: for options that are refused or only print. One that goes on is killed: code null. */
export async function runToEnd(options: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const { process: child, ended } = launch(options, env)
  const deadline = setTimeout(() => child.kill("SIGKILL"), START_DEADLINE_MS)
  return ended.finally(() => clearTimeout(deadline))
}

/** Starts the server and kills it after a time, wherever its start has come to. */
export async function killedStart(options: readonly string[], afterMs: number): Promise<Ended> {
  const { process: child, ended } = launch(["--port", "0", ...options], {})
  const timer = setTimeout(() => child.kill("SIGKILL"), afterMs)
  return ended.finally(() => clearTimeout(timer))
}

/** Starts the server and kills it as soon as a state is reached, which is looked for all the time. */
export async function killedWhen(options: readonly string[], isReached: () => boolean): Promise<Ended> {
  const { process: child, ended } = launch(["--port", "0", ...options], {})
  const timer = setInterval(() => {
    if (isReached()) child.kill("SIGKILL")
  }, 1)
  return ended.finally(() => clearInterval(timer))
}

/**
 * Starts the server on a free port and waits until it listens.
 * @param descriptors most files and sockets that it may have open
 */
export async function startChild(
  options: readonly string[],
  env: NodeJS.ProcessEnv = {},
  descriptors?: number,
): Promise<Child> {
  const started = launch(["--port", "0", "--rate-limit", UNLIMITED, ...options], env, descriptors)
  const url = await untilListening(started)
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const end = async (signal: NodeJS.Signals): Promise<Ended> => {
    agent.destroy()
    started.process.kill(signal)
    return started.ended
  }
  return {
    url,
    stdout: () => started.output.out,
    get: path => ask(agent, "GET", url + path),
    post: (path, body, headers) => ask(agent, "POST", url + path, JSON.stringify(body), headers),
    end,
    signal: signal => void started.process.kill(signal),
    ended: started.ended,
  }
}

async function untilListening({ process: child, output, ended }: Started): Promise<string> {
  const deadline = Date.now() + START_DEADLINE_MS
  let over = false
  void ended.then(() => {
    over = true
  })
  while (!over && Date.now() < deadline) {
    const line = output.out.split("\n").find(text => text.includes('"msg":"listening"'))
    const url = line === undefined ? undefined : /"url":"([^"]+)"/.exec(line)?.[1]
    if (url !== undefined) return url
    await new Promise(done => setTimeout(done, 20))
  }
  child.kill("SIGKILL")
  throw new Error(`the server did not start: ${output.err || output.out}`)
}

/** One request over a socket; rejects when the connection ends before the whole answer came. */
async function ask(agent: Agent, method: string, url: string, body?: string, headers?: Fields): Promise<Answer> {
  const answer = await exchange(agent, method, url, body, headers)
  const { pathname, search } = new URL(url)
  expectDescribed({ method, path: pathname + search, ...answer })
  return answer
}

function exchange(agent: Agent, method: string, url: string, body?: string, more?: Fields): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json", ...more }
    const request = httpRequest(url, { method, agent, headers }, response => {
      const chunks: Buffer[] = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("error", reject)
      response.on("aborted", () => reject(new Error("the answer was cut")))
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8")
        const json = response.headers["content-type"]?.startsWith("application/json") === true
        const value = json ? parseStrictJson(text) : {}
        const pairs = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as [string, string])
        resolve({
          status: response.statusCode ?? 0,
          headers: new Headers(pairs),
          text,
          body: isObject(value) ? value : {},
        })
      })
    })
    request.on("error", reject)
    request.end(body)
  })
}
