/** A session of the simulated server: one connection, its queue of statements, and its transaction. */

import type { Cell } from "./simulated-rows.ts"
import type { Statement } from "./sql-statement.ts"
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
  /** The transaction of a single statement, while it waits for a lock. */
  alone: Transaction | undefined
  failed: boolean
  gone: boolean
  /** Removes the session's pending step. */
  cancel: (() => void) | undefined
  /** The statement that waits for a lock. */
  waiting: Request | undefined
  /** Whether a statement is in transit: until it arrives, the session is idle for the server. */
  underWay: boolean
}

/** A new session. */
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

/** Statements that are sent without a transaction and write: a charge, and the redemption of a permit. */
const WRITES: readonly Statement["kind"][] = ["charge", "update"]

/** Whether the next statement of a session is a transaction by itself that writes. */
export const writesAlone = ({ inbox: [request], tx }: Session): boolean =>
  tx === undefined && request !== undefined && WRITES.includes(request.statement.kind)

/** Whether the next statement of a session commits: COMMIT, or a write outside of a transaction. */
export const commits = (session: Session): boolean =>
  session.inbox[0]?.statement.kind === "commit" || writesAlone(session)

/** A request's name in the trace. */
export const describe = ({ statement }: Request): string =>
  "shape" in statement ? `${statement.kind} ${statement.shape.name}` : statement.kind
