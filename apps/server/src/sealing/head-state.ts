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

/** The sentences for callers, by trouble; the one of a folder that is awaited names the folder, and has its own. */
const SENTENCES: Readonly<Record<string, string>> = {
  [OLDER]:
    "The log's database was exchanged for one that lacks what was acknowledged: nothing is sealed, and nobody is let in, until the operator brings the newer one back. Trying again does not help before that.",
  [ELSEWHERE]:
    "The log's database was exchanged: nothing is sealed, and nobody is let in, until it is known to hold all that was acknowledged. Try again.",
  [DAMAGED]:
    "It is not known how far the log had grown: nothing is sealed, and nobody is let in, until the operator has checked the log. Trying again does not help before that.",
}
const SENTENCE_OF_AWAITED =
  "The log's database was exchanged: nothing is sealed, and nobody is let in, until every server of the deployment has compared it with what it remembers. The operator starts those that are down."

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
  /** Throws the trouble, if there is one. @throws StoreError "unavailable" */
  readonly refuseTroubled: () => void
}

/** Why nothing is sealed, for the operator and for callers. */
export const sealingRefused = (reason: string): StoreError =>
  new StoreError("unavailable", { message: reason, callerMessage: SENTENCES[reason] ?? SENTENCE_OF_AWAITED })

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
      throw sealingRefused(reason)
    },
    refuseTroubled: () => {
      if (trouble !== undefined) throw sealingRefused(trouble)
    },
  }
}
