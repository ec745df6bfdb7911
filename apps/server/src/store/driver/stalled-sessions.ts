/** Sessions of this service whose client stopped in the middle of a statement, such as one of a process that was suspended. */
import type { Session } from "./session.ts"

/** A session is ended after this time in the middle of a statement, in milliseconds: a client that runs waits no longer than 8 s for an answer. */
const STALLED_MS = 20_000

/**
 * Ends them: `idle_in_transaction_session_timeout` counts between statements only, and `statement_timeout` not while the server waits
 * for the client, so that such a session would hold its locks for ever. Decision 0113.
 * Rejects where this user may not end sessions. A caller ignores that outside of its session: the pool has to see a connection that is lost.
 */
export const endStalledSessions = async (sql: Pick<Session["sql"], "unsafe">): Promise<void> =>
  void (await sql.unsafe(END_STALLED))

const END_STALLED = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and usename = current_user
    and application_name = current_setting('application_name') and state = 'active' and wait_event = 'ClientRead'
    and state_change < clock_timestamp() - ${STALLED_MS} * interval '1 ms'`
