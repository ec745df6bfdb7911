/** Sessions of people in a browser. */
import { closedSessionSchema, openSessionRequestSchema, sessionAnswerSchema } from "@runseal/core/wire/session-requests"
import { SMALL_BODY_MAX_BYTES } from "../body-bounds.ts"
import { type Answer, bytes, type Endpoint, json, type PathParameter, refusal } from "../endpoint.ts"

const TAG = "Sessions"

const PAGE: PathParameter = {
  schema: { type: "string" },
  description: "A page of the console, such as runs or runs/7, or a file of one.",
  example: "sign-in",
  many_segments: true,
}
const SIGN_IN = { description: "To the page that signs in, for a visitor without a session." }
const pageThat = (says: string): Answer => bytes("text/html", `A page that says ${says}.`)
/** A refusal of the API is shown on a page, with its status. */
const REFUSALS = {
  303: SIGN_IN,
  400: pageThat("that the address or the form cannot be read"),
  403: pageThat(
    "that the visitor's key may not see or do this, that it is no valid one, or that the form came from another site",
  ),
  404: pageThat("that there is no such page, or that it is about another key"),
  429: pageThat("that a limit is reached, and when to try again"),
  503: { ...refusal("The page cannot be shown now.", ["unavailable", "overloaded"]), or_page: true },
} as const satisfies Endpoint["answers"]

export const SESSION_ENDPOINTS: readonly Endpoint[] = [
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
      max_bytes: SMALL_BODY_MAX_BYTES,
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
    auditors: true,
    summary: "Sign out",
    answers: { 200: json(closedSessionSchema, "The session has ended. A key in the header stays as it is.") },
  },
  {
    tag: TAG,
    access: "public",
    method: "get",
    path: "/console",
    id: "console",
    summary: "The console's overview, for people with a session",
    answers: { 200: bytes("text/html", "The page."), ...REFUSALS },
  },
  {
    tag: TAG,
    access: "public",
    method: "get",
    path: "/console/{page}",
    id: "console_page",
    summary: "A page of the console, or a file of one",
    path_parameters: { page: PAGE },
    any_parameters: true,
    answers: {
      ...REFUSALS,
      200: bytes("*/*", "The page, or the file."),
      308: { description: "To the page, from its path with a trailing slash." },
    },
  },
  {
    tag: TAG,
    access: "public",
    method: "post",
    path: "/console/{page}",
    id: "console_form",
    summary: "A form of a page of the console",
    description: "For the forms of these pages: a form that another site sends is refused.",
    path_parameters: { page: PAGE },
    answers: {
      ...REFUSALS,
      200: bytes("text/html", "The page, with what the form has done."),
      303: { description: "To the page that shows it, or to the one that signs in." },
      409: pageThat("that this is done already"),
      413: pageThat("that the form is too large"),
    },
  },
]
