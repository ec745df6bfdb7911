/** What a process knows of heads: the last one it made or found kept, and why nothing is sealed. */
import type { HeadFile, RememberedHead } from "../keys/head-file.ts"
import { StoreError } from "../store/driver/store-errors.ts"

export const OLDER =
  "The database holds an older log than was acknowledged, or another; sealing on it would fork the log."
const TOLD =
  "The log's database was exchanged: nothing is sealed until it is known to hold all that was acknowledged. Nothing was acknowledged now; try again."

export type HeadState = {
  /** The last head that was made here, or found at a start or when the folder was registered; it is kept. */
  readonly known: () => RememberedHead | undefined
  readonly know: (head: RememberedHead) => void
  /** What is remembered in the folder and here. @throws StartupError when a file is damaged */
  readonly remembered: () => readonly RememberedHead[]
  /** Why nothing is sealed; undefined when something would be. */
  readonly trouble: () => string | undefined
  readonly find: (trouble: string | undefined) => void
  /** @throws StoreError "unavailable" */
  readonly refuse: (reason: string) => never
}

/** @param report told of what an operator should know, once each time it changes */
export function createHeadState(file: HeadFile, report: (trouble: string | undefined) => void): HeadState {
  let known: RememberedHead | undefined
  let trouble: string | undefined
  const find = (next: string | undefined): void => {
    if (next !== trouble) report(next)
    trouble = next
  }
  return {
    known: () => known,
    know: head => {
      known = head
    },
    remembered: () => [...file.all(), ...(known === undefined ? [] : [known])],
    trouble: () => trouble,
    find,
    refuse: reason => {
      find(reason)
      throw new StoreError("unavailable", { message: reason, told: TOLD })
    },
  }
}
