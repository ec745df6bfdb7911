import { spawnSync } from "node:child_process"
import { existsSync, globSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ROOT } from "../supply-chain/lockfile.ts"

export const PYTHON_FOLDER = join(ROOT, "python")

/** Of this process: removed with the temporary folders of the machine. */
const COMPILED_FOLDER = mkdtempSync(join(tmpdir(), "runseal-python-compiled-"))

/** A step that hangs ends; installing the proxy takes longest. */
const STEP_TIMEOUT_MS = 1_200_000

const CANDIDATES = [process.env.RUNSEAL_TEST_PYTHON, "python3.13", "python3.12", "python3.11", "python3"]

const isNewEnough = (command: string): boolean => {
  const source = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
  return spawnSync(command, ["-c", source], { stdio: "ignore", timeout: STEP_TIMEOUT_MS }).status === 0
}

/** A Python of 3.11 or later that can make environments, if there is one. */
export const findPython = (): string | undefined =>
  CANDIDATES.find(command => command !== undefined && isNewEnough(command))

/** Runs a program in the folder `python` and gives what it printed; throws, with that, when it fails. */
export function runStep(command: string, ...parameters: readonly string[]): string {
  // Modules are compiled once, and nothing is written beside our sources: empty is as if it were not set.
  const compiled = { PYTHONPYCACHEPREFIX: COMPILED_FOLDER, PYTHONDONTWRITEBYTECODE: "" }
  const env = { ...process.env, PIP_DISABLE_PIP_VERSION_CHECK: "1", ...compiled }
  const run = spawnSync(command, parameters, {
    cwd: PYTHON_FOLDER,
    encoding: "utf8",
    env,
    timeout: STEP_TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  })
  const printed = `${run.stdout}${run.stderr}`
  if (run.status !== 0) throw new Error(`${command} ${parameters.join(" ")}\n${printed.slice(-8000)}`)
  return printed
}

/** A temporary folder with the wheels, and what makes environments beside them. */
export interface PythonPlace {
  /** Makes an empty environment and gives the folder of its programs. */
  readonly environment: (name: string) => string
  /** Builds the wheel of a distribution, from its folder in `python`, and gives its path. */
  readonly wheel: (source: string) => string
}

export function pythonPlace(python: string): PythonPlace {
  const folder = mkdtempSync(join(tmpdir(), "runseal-python-"))
  const environment = (name: string): string => {
    const made = join(folder, name)
    if (!existsSync(made)) runStep(python, "-m", "venv", made)
    return join(made, "bin")
  }
  const wheel = (source: string): string => {
    const wheels = mkdtempSync(join(folder, "wheel-"))
    runStep(join(environment("build"), "pip"), "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, source)
    const [name] = globSync("*.whl", { cwd: wheels })
    if (name === undefined) throw new Error("No wheel was built.")
    return join(wheels, name)
  }
  return { environment, wheel }
}
