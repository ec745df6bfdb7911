/** A session of the simulated server: one connection, what was sent on it, and what it is in the middle of. */

import type { Statement } from "./parse-statement.ts"
import type { Cell } from "./simulated-rows.ts"
import type { Transaction } from "./transactions.ts"

export type Request = {
  readonly statement: Statement
  readonly parameters: readonly Cell[]
  readonly resolve: (answer: object) => void
  readonly reject: (error: Error) => void
}

export type Session = {
  readonly name: string
  readonly owner: string
  readonly lost: () => void
  readonly inbox: Request[]
  tx: Transaction | undefined
  /** That of a statement by itself, while it waits for a lock. */
  alone: Transaction | undefined
  failed: boolean
  gone: boolean
  /** Takes back the step that is to come. */
  cancel: (() => void) | undefined
  /** The statement that waits for a lock. */
  waiting: Request | undefined
  /** Whether a statement is on its way: until it arrives, the server sees a client that says nothing. */
  underWay: boolean
}

/** A session on which nothing was sent yet. */
export const newSession = (name: string, owner: string, lost: () => void): Session => ({
  name,
  owner,
  lost,
  inbox: [],
  tx: undefined,
  alone: undefined,
  failed: false,
  gone: false,
  cancel: undefined,
  waiting: undefined,
  underWay: false,
})

/** Whether what a session was sent last ends a transaction: COMMIT, or a charge by itself. */
export const commits = ({ inbox, tx }: Session): boolean =>
  inbox[0]?.statement.kind === "commit" || (tx === undefined && inbox[0]?.statement.kind === "charge")

/** A request as the schedule names it. */
export const describe = ({ statement }: Request): string =>
  "shape" in statement ? `${statement.kind} ${statement.shape.name}` : statement.kind
