/**
 * Takes secrets out of the process's environment, also out of what it was started with: the kernel shows those bytes to the account and to root as
 * `/proc/<pid>/environ` (proc_pid_environ(5)), however often the variable was deleted.
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs"

/** Place of `env_start` among the fields behind the command's name: field 50 of proc_pid_stat(5), the state being field 3. */
const ENV_START = 47

/**
 * Deletes the variables and overwrites them where the process was started with them.
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
