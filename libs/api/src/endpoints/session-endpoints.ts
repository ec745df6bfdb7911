/** Sessions of people in a browser. */
import {
  closedSessionSchema,
  finishedSignInSchema,
  finishSignInRequestSchema,
  openSessionRequestSchema,
  sessionAnswerSchema,
  startedSignInSchema,
  startSignInRequestSchema,
} from "@runseal/core/wire/session-requests"
import {
  type Description,
  described,
  type PathParameter,
  page,
  type Routes,
  refusal,
  SMALL_BODY_MAX_BYTES,
  shape,
} from "../endpoint.ts"

const PAGE = {
  schema: { type: "string" },
  description: "A page of the console, such as runs or runs/7, or a file of one.",
  example: "sign-in",
  many_segments: true,
} as const satisfies PathParameter

export const SESSION_ROUTES = {
  open_session: {
    method: "post",
    path: "/session",
    access: "public",
    limit: "sessions",
    body: shape(openSessionRequestSchema),
    max_bytes: SMALL_BODY_MAX_BYTES,
    answers: { 201: shape(sessionAnswerSchema) },
  },
  start_sign_in: {
    method: "post",
    path: "/session/sign-in",
    access: "public",
    limit: "sessions",
    body: shape(startSignInRequestSchema),
    max_bytes: SMALL_BODY_MAX_BYTES,
    answers: { 201: shape(startedSignInSchema) },
  },
  finish_sign_in: {
    method: "post",
    path: "/session/sign-in/answer",
    access: "public",
    limit: "sessions",
    body: shape(finishSignInRequestSchema),
    max_bytes: SMALL_BODY_MAX_BYTES,
    answers: { 201: shape(finishedSignInSchema) },
  },
  show_session: {
    method: "get",
    path: "/session",
    access: "key",
    persons: true,
    answers: { 200: shape(sessionAnswerSchema) },
  },
  close_session: {
    method: "delete",
    path: "/session",
    access: "key",
    auditors: true,
    persons: true,
    answers: { 200: shape(closedSessionSchema) },
  },
  console: { method: "get", path: "/console", access: "public", answers: { 200: "text/html" } },
  console_page: {
    method: "get",
    path: "/console/{page}",
    access: "public",
    path_parameters: { page: PAGE },
    any_parameters: true,
    answers: { 200: "*/*" },
  },
  console_form: {
    method: "post",
    path: "/console/{page}",
    access: "public",
    path_parameters: { page: PAGE },
    answers: { 200: "text/html" },
  },
} as const satisfies Routes

const SIGN_IN = { description: "To the page that signs in, for a visitor without a session." }
/** A refusal of the API is shown on a page, with its status. */
const REFUSALS: Description["answers"] = {
  303: SIGN_IN,
  400: page("A page that says that the address or the form cannot be read."),
  403: page(
    "A page that says that the visitor's key may not see or do this, that it is no valid one, or that the form came from another site.",
  ),
  404: page("A page that says that there is no such page, or that it is about another key."),
  429: page("A page that says that a limit is reached, and when to try again."),
  503: { ...refusal("The page cannot be shown now.", ["unavailable", "overloaded"]), or_page: true },
}

export const SESSION_ENDPOINTS = /* @__PURE__ */ described("Sessions", SESSION_ROUTES, () => ({
  open_session: {
    summary: "Sign in with a key, from a browser",
    description:
      "The answer sets a cookie, which takes the place of the key. It is for people in a browser; programs send their key. In open mode there is no session to open, and no cookie is set.",
    body: { example: { key: `rsk_${"0".repeat(48)}` } },
    answers: {
      201: {
        description: "Signed in.",
        headers: {
          "Set-Cookie": {
            description: "The session. Absent in open mode.",
            schema: { type: "string" },
            required: false,
          },
        },
      },
    },
    refusals: [401, 403, 503],
  },
  start_sign_in: {
    summary: "Start to sign in with the identity provider, from a browser",
    description:
      "The answer sets a cookie for ten minutes, and names the address at the provider to which the browser goes. The console asks it.",
    body: { example: { next: "/console/runs" } },
    answers: {
      201: {
        description: "Started.",
        headers: {
          "Set-Cookie": { description: "The sign-in that was started.", schema: { type: "string" }, required: true },
        },
      },
    },
    refusals: [403, 503],
  },
  finish_sign_in: {
    summary: "Sign in with the answer of the identity provider",
    description:
      "The answer counts in the browser that began, once, for ten minutes. It opens a session of at most eight hours. The role follows from the groups of the person, read anew at each sign-in.",
    body: { example: { query: "code=Sp1xlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj" } },
    answers: {
      201: {
        description: "Signed in.",
        headers: { "Set-Cookie": { description: "The session.", schema: { type: "string" }, required: true } },
      },
    },
    refusals: [403, 503],
  },
  show_session: {
    summary: "Who calls, and until when the session lasts",
    answers: { 200: "The caller: a person, or the key of a session or of the header." },
  },
  close_session: {
    summary: "Sign out",
    answers: { 200: "The session has ended. A key in the header stays as it is." },
  },
  console: {
    summary: "The console's overview, for people with a session",
    answers: { ...REFUSALS, 200: "The page." },
  },
  console_page: {
    summary: "A page of the console, or a file of one",
    answers: {
      ...REFUSALS,
      200: "The page, or the file.",
      308: { description: "To the page, from its path with a trailing slash." },
    },
  },
  console_form: {
    summary: "A form of a page of the console",
    description: "For the forms of these pages: a form that another site sends is refused.",
    answers: {
      ...REFUSALS,
      200: "The page, with what the form has done.",
      303: { description: "To the page that shows it, or to the one that signs in." },
      409: page("A page that says that this is done already."),
      413: page("A page that says that the form is too large."),
    },
  },
}))
