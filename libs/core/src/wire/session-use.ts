/** What is a use of a session, and how long it lasts without one. Scripts of pages load this alone, without the schemas of requests. */

/** The header of a request that nobody asked for, such as one of a page that refreshes itself: it is no use of the session. */
export const UNATTENDED_HEADER = "X-Unattended"
/** A session that is not used for so long has ended, in seconds. */
export const SESSION_IDLE_SECONDS = 1800
/** The use of a session is noted at most this often, so that it may end by so much earlier. */
export const SESSION_USE_NOTED_SECONDS = 60
