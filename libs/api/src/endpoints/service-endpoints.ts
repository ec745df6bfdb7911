/** The service about itself: health, readiness, release, and these descriptions. */
import {
  healthAnswerSchema,
  indexAnswerSchema,
  readyAnswerSchema,
  versionAnswerSchema,
} from "@runseal/core/wire/service-answers"
import * as v from "valibot"
import { described, type Routes, shape } from "../endpoint.ts"

export const openApiDocumentSchema = v.looseObject({ openapi: v.literal("3.1.0") })

const READ = { method: "get", access: "public" } as const
const UNCHANGED = { 304: { description: "Unchanged since the ETag of If-None-Match." } }

export const SERVICE_ROUTES = {
  index: { ...READ, path: "/", answers: { 200: shape(indexAnswerSchema) } },
  health: { ...READ, path: "/health", any_parameters: true, answers: { 200: shape(healthAnswerSchema) } },
  ready: { ...READ, path: "/ready", answers: { 200: shape(readyAnswerSchema) } },
  version: { ...READ, path: "/version", answers: { 200: shape(versionAnswerSchema) } },
  openapi: { ...READ, path: "/openapi.json", answers: { 200: shape(openApiDocumentSchema) } },
  docs: { ...READ, path: "/docs", answers: { 200: "text/html" } },
  verify_page: { ...READ, path: "/verify", answers: { 200: "text/html" } },
  docs_file: {
    ...READ,
    path: "/docs/{file}",
    path_parameters: {
      file: { schema: { type: "string" }, description: "Name of a file of the page.", example: "page.js" },
    },
    answers: { 200: "*/*" },
  },
} as const satisfies Routes

export const SERVICE_ENDPOINTS = /* @__PURE__ */ described("Service", SERVICE_ROUTES, () => ({
  index: {
    summary: "What this service is and where everything is",
    answers: { 200: { description: "Links, mode, log and fingerprints; to a browser a page.", or_page: true } },
    refusals: [503],
  },
  health: {
    summary: "Whether the process lives",
    description: "Every status but 200 means that the service cannot be reached: query parameters are ignored.",
    unfailing: true,
    answers: { 200: "The process lives." },
  },
  ready: {
    summary: "Whether database and log are usable",
    description: "Found at most once a second, however often it is asked.",
    answers: { 200: "The database takes writes and the log could take an entry." },
    refusals: [503],
  },
  version: {
    summary: "Release, engine, formula and log",
    unfailing: true,
    answers: { 200: "The release that answers." },
  },
  openapi: { summary: "This document", answers: { 200: "OpenAPI 3.1.", ...UNCHANGED } },
  docs: { summary: "This document, to read and try", answers: { 200: "A page." } },
  verify_page: {
    summary: "A page that verifies records in the visitor's browser",
    description:
      "Takes a bundle, a receipt, an attestation or a report; nothing that it is given leaves the visitor's machine.",
    answers: { 200: "The page; it may be saved and opened from disk.", ...UNCHANGED },
  },
  docs_file: {
    summary: "Scripts and styles of the page",
    answers: { 200: "The file.", ...UNCHANGED },
    refusals: [404],
  },
}))
