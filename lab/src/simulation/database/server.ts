import type { StoreClient } from "@runseal/server/store/driver/connection-pool"
import type { Scheduler } from "../scheduler.ts"
import { type Answer, execute } from "./execute-statement.ts"
import { parseStatement } from "./parse-statement.ts"
import { commits, describe, newSession, type Request, type Session, writesAlone } from "./server-session.ts"
import { clientOf, resultOf } from "./simulated-client.ts"
import { type Cell, emptyDatabase, type Snapshot } from "./simulated-rows.ts"
import type { Statement } from "./sql-statement.ts"
import { DatabaseError, type Defect, MustWait, openTransactions } from "./transactions.ts"

/** A fault of a statement on its way to the server, or of its answer on the way back. */
export type Mishap =
  | { readonly kind: "refused"; readonly sqlstate: string }
  /** The connection is lost before the statement took effect … */
  | { readonly kind: "lost before" }
  /** … or after it did and before the client had its answer. */
  | { readonly kind: "lost after" }

export type ServerParts = {
  readonly scheduler: Scheduler
  readonly defects: ReadonlySet<Defect>
  /** The fault of the next statement of this kind; undefined for none. */
  readonly mishap: (statement: Statement["kind"]) => Mishap | undefined
  /** Whether a COMMIT takes effect although its connection was lost before the answer. */
  readonly lateCommit: () => boolean
  readonly onCommit: (state: Snapshot) => void
  /** Counts an event. */
  readonly count: (what: string) => void
  /** Called with an error of the simulation itself, such as an unknown statement. */
  readonly broken: (error: unknown) => void
}

/** A server without faults and counters. */
export const UNDISTURBED: Omit<ServerParts, "scheduler" | "broken"> = {
  defects: new Set(),
  mishap: () => undefined,
  lateCommit: () => false,
  onCommit: () => undefined,
  count: () => undefined,
}

export type SimulatedServer = {
  readonly connect: (owner: string, lost: () => void) => StoreClient
  /** The process has ended: it gets no more answers, and the server notices later. */
  readonly ownerGone: (owner: string) => void
  /** Sessions in a transaction that are idle: a timeout may end them. */
  readonly idleInTransaction: () => readonly Ending[]
  /** Sessions that wait for a lock. */
  readonly waitingForLock: () => readonly Ending[]
  /** Ends every session, as a restart does. */
  readonly restart: () => void
  readonly committed: () => Snapshot
}

/** A session that a timeout may end. */
export type Ending = { readonly name: string; readonly disturb: () => void }

/** A database in its state after the migrations, or in an earlier state of a world. */
export function simulatedServer(parts: ServerParts, start: Snapshot = emptyDatabase()): SimulatedServer {
  const { scheduler, defects, count } = parts
  const database = openTransactions({
    start,
    defects,
    onCommit: parts.onCommit,
    onDeadlock: () => count("deadlock"),
  })
  const sessions: Session[] = []
  let opened = 0

  const plan = (session: Session, owner: string, what: string, happens: () => void): void => {
    session.cancel = scheduler.add({ owner, what: `${session.name} ${what}`, happens })
  }
  const next = (session: Session): void => {
    const request = session.inbox[0]
    if (request === undefined) return
    session.underWay = true
    plan(session, session.owner, describe(request), () => arrive(session, request))
  }
  const rollback = (session: Session): void => {
    for (const tx of [session.tx, session.alone]) if (tx !== undefined) database.rollback(tx)
    session.tx = undefined
    session.alone = undefined
    session.failed = false
    session.waiting = undefined
  }
  /** The connection is lost. @param underWay whether a COMMIT was sent that the server may still receive or carry out */
  const lose = (session: Session, underWay: boolean, tell = true): void => {
    if (session.gone) return
    session.gone = true
    session.cancel?.()
    sessions.splice(sessions.indexOf(session), 1)
    const [request] = session.inbox
    const isByItself = request !== undefined && writesAlone(session)
    const isUnhindered = !session.failed && (session.waiting === undefined || isByItself)
    const late = underWay && isUnhindered && parts.lateCommit()
    if (session.tx !== undefined) {
      plan(session, "database", late ? "commits, unheard" : "finds its client gone", () => {
        if (late && session.tx !== undefined) {
          count("commit took effect unheard")
          database.commit(session.tx)
          session.tx = undefined
        } else rollback(session)
      })
    } else if (isByItself && late) {
      // A waiting one continues when it has its lock.
      if (session.waiting === undefined)
        plan(session, "database", "carries it out, unheard", () => {
          count("statement took effect unheard")
          attempt(session, request)
        })
    } else if (session.alone !== undefined) {
      plan(session, "database", "finds its client gone", () => rollback(session))
    }
    if (tell) session.lost()
  }
  const answer = (session: Session, give: () => void): void =>
    plan(session, session.owner, "hears", () => {
      session.inbox.shift()
      give()
      if (!session.gone) next(session)
    })

  const arrive = (session: Session, request: Request): void => {
    session.underWay = false
    const mishap = parts.mishap(request.statement.kind)
    if (mishap !== undefined) {
      count(`${request.statement.kind === "commit" ? "commit" : "statement"} ${nameOf(mishap)}`)
      scheduler.note(`${session.name} is ${nameOf(mishap)}`)
    }
    if (mishap?.kind === "lost before") {
      lose(session, commits(session))
      return
    }
    const done = mishap?.kind === "refused" ? refusal(session, request, mishap.sqlstate) : attempt(session, request)
    if (done === undefined) return
    if (mishap?.kind === "lost after") lose(session, false)
    else answer(session, done)
  }
  const refusal = (session: Session, { statement, reject }: Request, sqlstate: string): (() => void) => {
    // A refused COMMIT or ROLLBACK also ends the transaction, which is rolled back.
    if (statement.kind === "commit" || statement.kind === "rollback") rollback(session)
    session.failed = session.tx !== undefined
    return () => reject(new DatabaseError(sqlstate, "refused by the simulation"))
  }
  /** A function that gives the client its answer; undefined while the statement waits. */
  const attempt = (session: Session, request: Request): (() => void) | undefined => {
    try {
      const found = perform(session, request)
      return () => request.resolve(resultOf(found))
    } catch (error) {
      if (error instanceof MustWait) {
        count("waited for a lock")
        session.waiting = request
        session.cancel = undefined
        return undefined
      }
      if (!(error instanceof DatabaseError)) {
        parts.broken(error)
        return undefined
      }
      session.failed = session.tx !== undefined
      count(`refused ${error.code}`)
      return () => request.reject(error)
    }
  }
  const perform = (session: Session, { statement, parameters }: Request): Answer => {
    if (statement.kind === "begin") {
      // PostgreSQL only warns of a transaction that is open already, and continues it.
      if (session.tx !== undefined) return plain("BEGIN")
      session.failed = false
      session.tx = database.begin(session.name, () => proceed(session))
      return plain("BEGIN")
    }
    if (statement.kind === "rollback" || (statement.kind === "commit" && session.failed)) {
      rollback(session)
      return plain("ROLLBACK")
    }
    if (statement.kind === "commit") {
      if (session.tx !== undefined) database.commit(session.tx)
      session.tx = undefined
      return plain("COMMIT")
    }
    if (session.failed) throw new DatabaseError("25P02", "current transaction is aborted")
    const tx = session.tx ?? session.alone ?? database.begin(session.name, () => proceed(session))
    const before = new Map([...tx.writes].map(([table, rows]) => [table, new Map(rows)]))
    try {
      const found = execute(database, tx, statement, parameters, defects.has("updates without looking"))
      if (session.tx === undefined) {
        session.alone = undefined
        database.commit(tx)
      }
      return found
    } catch (error) {
      tx.writes.clear()
      for (const [table, rows] of before) tx.writes.set(table, rows)
      if (session.tx === undefined) {
        session.alone = error instanceof MustWait ? tx : undefined
        if (session.alone === undefined) database.rollback(tx)
      }
      throw error
    }
  }
  const proceed = (session: Session): void => {
    const request = session.waiting
    if (request === undefined || (session.gone && session.alone === undefined)) return
    session.waiting = undefined
    plan(session, "database", `goes on with ${describe(request)}`, () => {
      if (session.gone && session.alone === undefined) return
      const done = attempt(session, request)
      if (done !== undefined && !session.gone) answer(session, done)
    })
  }
  const disturbing = (session: Session, disturb: () => void): Ending => ({ name: session.name, disturb })
  return {
    connect: (owner, lost) => {
      const name = `${owner}/${++opened}`
      const session = newSession(name, owner, lost)
      sessions.push(session)
      return clientOf((text, parameters) => send(session, text, parameters, parts, next))
    },
    ownerGone: owner => {
      for (const session of sessions.filter(found => found.owner === owner)) lose(session, commits(session), false)
    },
    idleInTransaction: () =>
      sessions
        .filter(({ tx, underWay }) => tx !== undefined && underWay)
        .map(session =>
          disturbing(session, () => {
            rollback(session)
            lose(session, false)
          }),
        ),
    waitingForLock: () =>
      sessions
        .filter(({ waiting }) => waiting !== undefined)
        .map(session =>
          disturbing(session, () => {
            const request = session.waiting
            const tx = session.tx ?? session.alone
            if (request === undefined || tx === undefined) return
            database.stopWaiting(tx)
            session.waiting = undefined
            if (session.tx === undefined) rollback(session)
            answer(session, refusal(session, request, "55P03"))
          }),
        ),
    restart: () => {
      for (const session of [...sessions]) {
        rollback(session)
        lose(session, false)
      }
    },
    committed: database.committed,
  }
}

const nameOf = (mishap: Mishap): string => (mishap.kind === "refused" ? `refused ${mishap.sqlstate}` : mishap.kind)
const plain = (command: string): Answer => ({ rows: [], count: 0, command })

function send(
  session: Session,
  text: string,
  parameters: readonly Cell[],
  parts: Pick<ServerParts, "broken">,
  next: (session: Session) => void,
): Promise<object> {
  return new Promise((resolve, reject) => {
    if (session.gone) return reject(Object.assign(new Error("the connection is closed"), { code: "CONNECTION_CLOSED" }))
    try {
      const copied = parameters.map(cell => (cell instanceof Uint8Array ? Buffer.from(cell) : cell))
      session.inbox.push({ statement: parseStatement(text), parameters: copied, resolve, reject })
    } catch (error) {
      return parts.broken(error)
    }
    if (session.inbox.length === 1) next(session)
  })
}
