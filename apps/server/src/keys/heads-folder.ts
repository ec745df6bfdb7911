/** The folder of heads of a process: its own file there, and the id under which the database lists the folder. */
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { resolve } from "node:path"
import type { Config } from "../options/config.ts"
import type { Database } from "../store/driver/database.ts"
import { readFolderId } from "./folder-id.ts"
import { type HeadFile, openHeadFile } from "./head-file.ts"

/** Characters of a folder's machine and path that an operator is shown at most. */
const MAX_LABEL = 200

type HeadsFolder = {
  readonly file: HeadFile
  /** Absent for the embedded database. */
  readonly folder?: { readonly id: string; readonly label: string }
}

/** Makes this process's head file. @throws StartupError when the folder cannot be used */
export function headsOf({ keysDir }: Pick<Config, "keysDir">, { kind }: Pick<Database, "kind">): HeadsFolder {
  const instance = randomUUID()
  const file = openHeadFile(keysDir, instance)
  if (kind !== "postgres") return { file }
  try {
    const label = `${hostname()}:${resolve(keysDir)}`.slice(0, MAX_LABEL)
    return { file, folder: { id: readFolderId(keysDir, instance), label } }
  } catch (error) {
    file.close()
    throw error
  }
}
