/** What a process knows of the log's head: the last one that was acknowledged, and why nothing is sealed. */
import type { HeadFile, RememberedHead } from "../keys/head-file.ts"
import { StartupError } from "../options/startup-error.ts"
import { StoreError } from "../store/driver/store-errors.ts"

export const OLDER =
  "The database holds an older log than was acknowledged, or another; sealing on it would fork the log."
export const ELSEWHERE =
  "The database is another one than before, or was promoted: it is being compared with what is remembered."
const DAMAGED =
  "A head in the folder of the heads beside the keys is damaged; nothing is sealed until the log was checked and the file removed."
const CALLER_MESSAGE =
  "The log's database was exchanged: nothing is sealed until it is known to hold all that was acknowledged. Nothing was acknowledged now; try again."

export type HeadState = {
  /** The last head that was made here, or found at a start or when the folder was registered; it is durable in the database. */
  readonly known: () => RememberedHead | undefined
  readonly know: (head: RememberedHead) => void
  /** The heads remembered in the folder and here. @throws StartupError when a file is damaged */
  readonly remembered: () => readonly RememberedHead[]
  /** Why nothing is sealed; undefined when something would be. */
  readonly trouble: () => string | undefined
  readonly setTrouble: (trouble: string | undefined) => void
  /** Sets the trouble and throws it. @throws StoreError "unavailable" */
  readonly refuse: (reason: string) => never
}

/** @param report called with the trouble each time it changes, for the operator */
export function createHeadState(file: HeadFile, report: (trouble: string | undefined) => void): HeadState {
  let known: RememberedHead | undefined
  let trouble: string | undefined
  const setTrouble = (next: string | undefined): void => {
    if (next !== trouble) report(next)
    trouble = next
  }
  return {
    known: () => known,
    know: head => {
      known = head
    },
    remembered: () => {
      try {
        return [...file.all(), ...(known === undefined ? [] : [known])]
      } catch (error) {
        if (error instanceof StartupError) setTrouble(DAMAGED)
        throw error
      }
    },
    trouble: () => trouble,
    setTrouble,
    refuse: reason => {
      setTrouble(reason)
      throw new StoreError("unavailable", { message: reason, callerMessage: CALLER_MESSAGE })
    },
  }
}
