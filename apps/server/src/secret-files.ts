/** Secrets by file: what holds them for containers hands out files, and a variable is seen by whoever may inspect one. */
import { closeSync, openSync, readSync } from "node:fs"
import { SECRET_VARIABLES } from "./config.ts"
import { StartupError } from "./startup-error.ts"

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
