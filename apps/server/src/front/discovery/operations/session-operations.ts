/** Sessions of people in a browser. */
import { closedSessionSchema, openSessionRequestSchema, sessionAnswerSchema } from "@runseal/core/wire/session-requests"
import { SMALL_LIMITS } from "../../http/json-body.ts"
import { json, type Operation } from "../operation.ts"

const TAG = "Sessions"

export const SESSION_OPERATIONS: readonly Operation[] = [
  {
    tag: TAG,
    access: "public",
    limit: "sessions",
    method: "post",
    path: "/session",
    id: "open_session",
    summary: "Sign in with a key, from a browser",
    description:
      "The answer sets a cookie, which takes the place of the key. It is for people in a browser; programs send their key. In open mode there is no session to open, and no cookie is set.",
    body: {
      schema: openSessionRequestSchema,
      max_bytes: SMALL_LIMITS.maxBytes,
      example: { key: `rsk_${"0".repeat(48)}` },
    },
    answers: {
      201: json(sessionAnswerSchema, "Signed in.", {
        "Set-Cookie": { description: "The session. Absent in open mode.", schema: { type: "string" }, required: false },
      }),
    },
    refusals: [401, 403, 503],
  },
  {
    tag: TAG,
    access: "key",
    method: "get",
    path: "/session",
    id: "show_session",
    summary: "Who calls, and until when the session lasts",
    answers: { 200: json(sessionAnswerSchema, "The caller: of a session, or of a key in the header.") },
  },
  {
    tag: TAG,
    access: "key",
    method: "delete",
    path: "/session",
    id: "close_session",
    summary: "Sign out",
    answers: { 200: json(closedSessionSchema, "The session has ended. A key in the header stays as it is.") },
  },
]
