/**
 * An id for each call of an agent whose hooks do not name it. The command that runs before a call makes one and stores it in a file; the one that runs
 * after it, with the same tool and arguments, takes the newest. Of two equal calls at a time each may take that of the other.
 */
import { randomUUID } from "node:crypto"
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { digest, type JsonObject } from "@runseal/canonical"

/** Milliseconds after which a call has no end any more: that of a permit. */
const STORED_MS = 2 * 3_600_000
/** Ids that are stored; the oldest are deleted first. */
const STORED_MAX = 10_000

/** Members that say which call it is, before and after it. */
const MEMBERS = ["session_id", "conversation_id", "generation_id", "tool_name", "tool_input", "command"]

/** @param isBefore whether the call is about to be done @param folder for the ids */
export function callIdOf(body: JsonObject, isBefore: boolean, folder: string = stateFolder()): string {
  const call = digest(MEMBERS.map(name => body[name] ?? null))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (isBefore) {
    const id = randomUUID()
    writeFileSync(join(folder, `${call}.${id}`), "", { mode: 0o600 })
    tidy(folder)
    return id
  }
  const [newest] = byAge(
    folder,
    readdirSync(folder).filter(name => name.startsWith(`${call}.`)),
  )
  // An act for which nobody asked has an id of its own.
  if (newest === undefined) return randomUUID()
  rmSync(join(folder, newest.name), { force: true })
  return newest.name.slice(call.length + 1)
}

const stateFolder = (): string =>
  join(process.env.XDG_STATE_HOME ?? join(homedir(), ".local", "state"), "runseal", "hooks")

const byAge = (folder: string, names: readonly string[]): readonly { readonly name: string; readonly at: number }[] =>
  names
    .map(name => ({ name, at: statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((a, b) => b.at - a.at)

function tidy(folder: string): void {
  const names = readdirSync(folder)
  if (names.length < STORED_MAX / 10) return
  for (const [place, { name, at }] of byAge(folder, names).entries())
    if (place >= STORED_MAX || Date.now() - at > STORED_MS) rmSync(join(folder, name), { force: true })
}
