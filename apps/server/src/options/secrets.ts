/**
 * Secrets of the environment: read from files where variables name them, since a variable is seen by everyone who may inspect a container,
 * and taken out of the process's environment once they were read.
 */
import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs"
import { StartupError } from "./startup-error.ts"

/** Variables whose values are secrets, or hold one. */
export const SECRET_VARIABLES: readonly string[] = ["RUNSEAL_AIVP_API_KEY", "RUNSEAL_DATABASE_URL"]

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
    // Containers hand over variables that nobody set as empty ones.
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

/** Place of `env_start` among the fields behind the command's name: field 50 of proc_pid_stat(5), the state being field 3. */
const ENV_START = 47

/**
 * Deletes the variables and overwrites them where the process was started with them: the kernel shows those bytes to the account and to
 * root as `/proc/<pid>/environ` (proc_pid_environ(5)), however often the variable was deleted.
 * @returns those that can still be read there; none on systems that have no such file
 */
export function removeSecrets(env: NodeJS.ProcessEnv, names: readonly string[]): readonly string[] {
  // First: nothing of the process points to the bytes any more.
  for (const name of names) delete env[name]
  if (process.platform !== "linux") return []
  try {
    overwrite(names)
  } catch {
    // A kernel or a sandbox that does not let a process write its own memory in this way: what is left is told below.
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

/** Where the variables stand in what the process was started with. */
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
    // No /proc is mounted: nobody reads it there either.
    return []
  }
}
