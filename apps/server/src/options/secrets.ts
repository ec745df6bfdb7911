/**
 * Secrets of the environment. A variable is visible to everyone who may inspect a container, so `<name>_FILE` can name a file that holds
 * the secret instead. After they were read, the secrets are removed from the environment of the process.
 */
import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs"
import { StartupError } from "./startup-error.ts"

/** Variables whose values are secrets, or contain one. */
export const SECRET_VARIABLES: readonly string[] = [
  "RUNSEAL_AIVP_API_KEY",
  "RUNSEAL_OIDC_CLIENT_SECRET",
  "RUNSEAL_DATABASE_URL",
  "RUNSEAL_DATABASE_DIRECT_URL",
  "RUNSEAL_DATABASE_READ_URL",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
]

/** More than any address or key takes. */
const MAX_SECRET_BYTES = 4096

/**
 * Sets each secret variable whose `<name>_FILE` names a file to what that file holds, without a final line break.
 * @throws StartupError when both are given, or the file cannot be read, is empty or too large
 */
export function readSecretFiles(env: NodeJS.ProcessEnv): void {
  for (const name of SECRET_VARIABLES) {
    const path = env[`${name}_FILE`]
    if (path === undefined || path === "") continue
    // A container engine passes an unset variable as an empty one.
    if ((env[name] ?? "") !== "") throw new StartupError(`${name} and ${name}_FILE are both given; give one of them`)
    env[name] = secretIn(path, `${name}_FILE`)
  }
}

function secretIn(path: string, variable: string): string {
  const bytes = Buffer.alloc(MAX_SECRET_BYTES + 1)
  let length: number
  try {
    const fd = openSync(path, "r")
    try {
      length = readSync(fd, bytes)
    } finally {
      closeSync(fd)
    }
  } catch {
    throw new StartupError(`the file that ${variable} names cannot be read`)
  }
  if (length > MAX_SECRET_BYTES)
    throw new StartupError(`the file that ${variable} names holds more than ${MAX_SECRET_BYTES} bytes`)
  const text = bytes.toString("utf8", 0, length).replace(/\r?\n$/, "")
  if (text === "") throw new StartupError(`the file that ${variable} names is empty`)
  return text
}

/** Index of `env_start` among the fields after the command's name: field 50 of proc_pid_stat(5), where the state is field 3. */
const ENV_START = 47

/**
 * Deletes the variables and overwrites them where the process was started with them: the kernel shows those bytes to the account and to
 * root as `/proc/<pid>/environ` (proc_pid_environ(5)), however often the variable was deleted.
 * @returns those that can still be read there; none on systems that have no such file
 */
export function removeSecrets(env: NodeJS.ProcessEnv, names: readonly string[]): readonly string[] {
  // First the variables, so that nothing in the process refers to the bytes that are overwritten next.
  for (const name of names) delete env[name]
  if (process.platform !== "linux") return []
  try {
    overwrite(names)
  } catch {
    // Some kernels and sandboxes forbid a process to write its own memory in this way. The caller reports the variables that are left.
  }
  return namesLeft(names)
}

function overwrite(names: readonly string[]): void {
  const places = placesOf(names)
  if (places.length === 0) return
  const stat = readFileSync("/proc/self/stat", "latin1")
  const start = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[ENV_START])
  if (!Number.isSafeInteger(start) || start <= 0) return
  const memory = openSync("/proc/self/mem", "r+")
  try {
    for (const { at, length } of places) writeSync(memory, Buffer.alloc(length), 0, length, start + at)
  } finally {
    closeSync(memory)
  }
}

type Place = { readonly name: string; readonly at: number; readonly length: number }

/** Positions of the variables in the environment block that the process was started with. */
function placesOf(names: readonly string[]): readonly Place[] {
  const places: Place[] = []
  let at = 0
  for (const entry of readFileSync("/proc/self/environ", "latin1").split("\0")) {
    const name = names.find(known => entry.startsWith(`${known}=`))
    if (name !== undefined) places.push({ name, at, length: entry.length })
    at += entry.length + 1
  }
  return places
}

function namesLeft(names: readonly string[]): readonly string[] {
  try {
    return [...new Set(placesOf(names).map(({ name }) => name))]
  } catch {
    // Without /proc there is no such file to read.
    return []
  }
}
