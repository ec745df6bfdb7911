/** What a load leaves beside the signing keys, so that a later measurement finds its callers. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseStrictJson } from "@runseal/canonical"
import { member } from "@runseal/core/vocabulary/json-members"

const FILE = "load.json"

export type Loaded = {
  /** Secrets of the callers; the first made every second run. */
  readonly secrets: readonly string[]
}

export const keepLoaded = (folder: string, { secrets }: Loaded): void =>
  writeFileSync(join(folder, FILE), JSON.stringify({ secrets }), { mode: 0o600 })

export function readLoaded(folder: string): Loaded {
  const secrets = member(parseStrictJson(readFileSync(join(folder, FILE))), "secrets")
  if (!Array.isArray(secrets)) throw new Error(`${folder} holds no load`)
  return { secrets: secrets.map(String) }
}
