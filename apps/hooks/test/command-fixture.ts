/** The command `runseal-hooks` as a process, and a relay before a service whose key it holds. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { createClient } from "@runseal/sdk"
import {
  type Folder,
  newFolder,
  type Running,
  run,
  type Service,
  startService,
  until,
} from "../../mcp/test/gateway-fixture.ts"

export const HOOKS = fileURLToPath(new URL("../bin/runseal-hooks.js", import.meta.url))

export type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Runs a program to its end. */
export function ran(
  words: readonly string[],
  settings: { env?: NodeJS.ProcessEnv; cwd?: string; input?: string } = {},
): Promise<Ran> {
  const { env = process.env, cwd, input = "" } = settings
  const child = spawn(words[0] ?? "", words.slice(1), { env, ...(cwd === undefined ? {} : { cwd }) })
  let [stdout, stderr] = ["", ""]
  child.stdout.setEncoding("utf8").on("data", text => (stdout += text))
  child.stderr.setEncoding("utf8").on("data", text => (stderr += text))
  child.stdin.on("error", () => undefined)
  child.stdin.end(input)
  return new Promise(ended => child.once("close", code => ended({ code, stdout, stderr })))
}

export type Place = {
  readonly folder: Folder
  readonly service: Service
  readonly relay: Running
  /** Address of the relay. */
  readonly url: string
  /** Environment of an agent: a home of its own, and no key. */
  readonly env: NodeJS.ProcessEnv
  readonly hooks: (words: readonly string[], input?: string) => Promise<Ran>
  readonly stop: () => Promise<void>
}

/** A locked service, and a relay with its key. */
export async function startPlace(): Promise<Place> {
  const folder = newFolder()
  const service = await startService(`${folder.path}/records`)
  const { secret } = await service.runseal.createKey({ name: "relay", tier: "production", observe: true })
  const relay = run([process.execPath, HOOKS, "relay", "--url", service.url, "--listen", "127.0.0.1:0"], {
    ...process.env,
    RUNSEAL_API_KEY: secret,
  })
  const url = await until(() => /listening on (http:\S+),/.exec(relay.output())?.[1])
  const { RUNSEAL_API_KEY: _, RUNSEAL_URL: __, ...plain } = process.env
  const env = { ...plain, HOME: `${folder.path}/home`, XDG_STATE_HOME: `${folder.path}/state` }
  return {
    folder,
    service: { ...service, runseal: createClient({ baseUrl: service.url, apiKey: secret }) },
    relay,
    url,
    env,
    hooks: (words, input = "") => ran([process.execPath, HOOKS, ...words], { env, cwd: folder.path, input }),
    stop: async () => {
      relay.child.kill("SIGTERM")
      await relay.ended
      await service.stop()
      folder.remove()
    },
  }
}
