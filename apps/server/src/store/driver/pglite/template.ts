/**
 * The empty, migrated database of this release as a closed cluster in one file: a start that unpacks it saves initdb and all migrations.
 * `npm run build` makes it beside the built service. It is trusted as the code beside it is, and named by what it was made of: one of
 * other migrations is not found, and the database is made step by step.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { sha256Hex } from "@runseal/canonical"
import { packFolder } from "./cluster-archive.ts"

const FOLDER = fileURLToPath(new URL("../../../../dist/template/", import.meta.url))

/** Raised when packFolder writes other bytes, or the cluster is made with other settings. */
const FORM = "2"

/** What names a template: the installed PGlite and the migrations, in order. */
export function templateName(migrations: readonly { readonly hash: string }[]): string {
  const pglite = readFileSync(new URL("../package.json", import.meta.resolve("@electric-sql/pglite")), "utf8")
  const { version }: { readonly version: string } = JSON.parse(pglite)
  return `${sha256Hex([FORM, version, ...migrations.map(({ hash }) => hash)].join("\n"))}.tar.zst`
}

/** The template of that name, as packFolder packed it; undefined where it was not made. */
export function readTemplate(name: string): Uint8Array | undefined {
  try {
    return readFileSync(join(FOLDER, name))
  } catch {
    return undefined
  }
}

/** Makes it if it is not there. @param make makes a closed cluster in a new folder, and gives the folder of the cluster */
export async function ensureTemplate(name: string, make: (folder: string) => Promise<string>): Promise<Uint8Array> {
  const found = readTemplate(name)
  if (found !== undefined) return found
  const place = mkdtempSync(join(tmpdir(), "runseal-template-"))
  try {
    const made = packFolder(await make(place))
    store(name, made)
    return made
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** In place of any older one. Where it cannot be stored, as in a package that is not this user's, the next start takes as long. */
function store(name: string, made: Uint8Array): void {
  try {
    mkdirSync(FOLDER, { recursive: true })
    // No other process ever sees a half-written file.
    const unfinished = join(FOLDER, `${name}.${process.pid}`)
    writeFileSync(unfinished, made)
    renameSync(unfinished, join(FOLDER, name))
    for (const older of readdirSync(FOLDER)) if (!older.startsWith(name)) rmSync(join(FOLDER, older), { force: true })
  } catch {
    return
  }
}
