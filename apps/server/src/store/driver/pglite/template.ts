/**
 * A copy of the empty, migrated database in memory, cached between starts: loading it takes a tenth of making one. It is
 * used for databases in memory alone, and is in a folder that only this user can write.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { sha256Hex } from "@runseal/canonical"

/** Mode bits of others than the owner. */
const OTHERS = 0o077

type Template = {
  /** The cached copy, a tar file of a data folder; undefined when there is none. */
  readonly tar: Uint8Array<ArrayBuffer> | undefined
  /** Caches a copy for the next start, in place of any older one. After a failure the next start takes longer, no more. */
  readonly store: (tar: Uint8Array) => void
}

/** The template of the database these migrations make with the installed PGlite. */
export function templateOf(migrations: readonly { readonly hash: string }[]): Template {
  try {
    const folder = privateFolder()
    const made = readFileSync(new URL("../package.json", import.meta.resolve("@electric-sql/pglite")), "utf8")
    const name = `${sha256Hex([made, ...migrations.map(({ hash }) => hash)].join("\n"))}.tar`
    return { tar: readIfPresent(join(folder, name)), store: tar => store(folder, name, tar) }
  } catch {
    return { tar: undefined, store: () => {} }
  }
}

function privateFolder(): string {
  const { uid } = userInfo()
  const folder = join(tmpdir(), `runseal-template-${uid}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  const ours = found.isDirectory() && found.uid === uid && (found.mode & OTHERS) === 0
  if (!ours) throw new Error("The template folder is not this user's alone.")
  return folder
}

function readIfPresent(path: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return new Uint8Array(readFileSync(path))
  } catch {
    return undefined
  }
}

function store(folder: string, name: string, tar: Uint8Array): void {
  try {
    for (const older of readdirSync(folder)) rmSync(join(folder, older), { force: true })
    // No other process ever sees a half-written copy.
    const unfinished = join(folder, `${name}.${process.pid}`)
    writeFileSync(unfinished, tar, { mode: 0o600 })
    renameSync(unfinished, join(folder, name))
  } catch {
    return
  }
}
