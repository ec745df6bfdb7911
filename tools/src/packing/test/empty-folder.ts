/** An empty folder and environment: no user settings, no npm cache, no node_modules in a parent folder. */
import { execFile, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string }

export type EmptyFolder = {
  readonly path: string
  readonly env: NodeJS.ProcessEnv
  /** Runs a command there, with this Node before any other. */
  readonly run: (command: string, ...words: readonly string[]) => Promise<Ran>
  /** `npm install` of packed files. @throws Error with npm's output */
  readonly install: (...files: readonly string[]) => Promise<void>
  readonly write: (name: string, text: string) => void
  readonly remove: () => void
}

/** Longer than any command here takes on a busy machine. */
const COMMAND_TIMEOUT_MS = 240_000
const MAX_OUTPUT_BYTES = 16_777_216

const foreignPath = (process.env.PATH ?? "").split(delimiter).filter(folder => !folder.includes("node_modules"))

/** A Node of this machine: on PATH, or named by a variable as `RUNSEAL_NODE_22`; undefined when there is none. */
const nodeOf = (major: number): string | undefined =>
  [process.env[`RUNSEAL_NODE_${major}`] ?? "node", ...foreignPath.map(folder => join(folder, "node"))].find(file =>
    spawnSync(file, ["--version"], { encoding: "utf8" }).stdout?.startsWith(`v${major}.`),
  )
export const node20 = nodeOf(20)
export const node22 = nodeOf(22)

/**
 * @param registry where npm finds packages
 * @param node that runs everything
 */
export function emptyFolder(registry: string, node: string = process.execPath): EmptyFolder {
  const path = mkdtempSync(join(tmpdir(), "runseal-empty-"))
  const env = {
    PATH: [dirname(node), ...foreignPath].join(delimiter),
    HOME: path,
    npm_config_registry: registry,
    npm_config_cache: join(path, ".npm"),
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
  }
  const run = (command: string, ...words: readonly string[]): Promise<Ran> =>
    new Promise(done => {
      const settings = { cwd: path, env, timeout: COMMAND_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES }
      const child = execFile(command, words, settings, (_, stdout, stderr) =>
        done({ code: child.exitCode ?? -1, stdout, stderr }),
      )
    })
  return {
    path,
    env,
    run,
    install: async (...files) => {
      const { code, stderr } = await run("npm", "install", ...files)
      if (code !== 0) throw new Error(`npm install failed: ${stderr}`)
    },
    write: (name, text) => writeFileSync(join(path, name), text),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}
