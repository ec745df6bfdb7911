/** The demo's folders: each demo has one of its own under .runseal/, which git ignores. Paths are relative to the root. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join, relative } from "node:path"
import { ROOT } from "./server-process.ts"

export type Folders = {
  /** The repository. */
  readonly root: string
  readonly demo: string
  /** The service's database and signing keys. */
  readonly data: string
  /** The files that an auditor gets. */
  readonly evidence: string
  readonly forged: string
  /** An empty trust store, so that keys the reader has pinned are not used. */
  readonly noTrust: string
  readonly trust: string
  readonly log: string
}

/** Makes the folders. */
export function makeFolders(): Folders {
  const root = ROOT
  mkdirSync(join(root, ".runseal"), { recursive: true })
  const demo = relative(root, mkdtempSync(join(root, ".runseal/demo-")))
  const inside = (name: string): string => join(demo, name)
  const folders = { data: inside("data"), evidence: inside("evidence"), forged: inside("forged") }
  const noTrust = inside("no-trust")
  for (const folder of [folders.evidence, folders.forged, noTrust]) mkdirSync(join(root, folder))
  return { root, demo, ...folders, noTrust, trust: join(folders.evidence, "trust.json"), log: inside("service.log") }
}

/** Removes everything; retries while a service that was just killed still has a file open. */
export const removeFolders = ({ root, demo }: Folders): void =>
  rmSync(join(root, demo), { recursive: true, force: true, maxRetries: 10 })
