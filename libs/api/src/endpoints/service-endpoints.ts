/** The service about itself: health, readiness, release, and these descriptions. */
import {
  healthAnswerSchema,
  indexAnswerSchema,
  readyAnswerSchema,
  versionAnswerSchema,
} from "@runseal/core/wire/service-answers"
import * as v from "valibot"
import { bytes, type Endpoint, json } from "../endpoint.ts"

export const openApiDocumentSchema = v.looseObject({ openapi: v.literal("3.1.0") })

const SERVICE = { method: "get", tag: "Service", access: "public" } as const

export const SERVICE_ENDPOINTS: readonly Endpoint[] = [
  {
    ...SERVICE,
    path: "/",
    id: "index",
    summary: "What this service is and where everything is",
    answers: {
      200: { ...json(indexAnswerSchema, "Links, mode, log and fingerprints; to a browser a page."), or_page: true },
    },
    refusals: [503],
  },
  {
    ...SERVICE,
    path: "/health",
    id: "health",
    summary: "Whether the process lives",
    description: "Every status but 200 means that the service cannot be reached: query parameters are ignored.",
    unfailing: true,
    any_parameters: true,
    answers: { 200: json(healthAnswerSchema, "The process lives.") },
  },
  {
    ...SERVICE,
    path: "/ready",
    id: "ready",
    summary: "Whether database and log are usable",
    description: "Found at most once a second, however often it is asked.",
    answers: { 200: json(readyAnswerSchema, "The database takes writes and the log could take an entry.") },
    refusals: [503],
  },
  {
    ...SERVICE,
    path: "/version",
    id: "version",
    summary: "Release, engine, formula and log",
    unfailing: true,
    answers: { 200: json(versionAnswerSchema, "The release that answers.") },
  },
  {
    ...SERVICE,
    path: "/openapi.json",
    id: "openapi",
    summary: "This document",
    answers: {
      200: json(openApiDocumentSchema, "OpenAPI 3.1."),
      304: { description: "Unchanged since the ETag of If-None-Match." },
    },
  },
  {
    ...SERVICE,
    path: "/docs",
    id: "docs",
    summary: "This document, to read and try",
    answers: { 200: bytes("text/html", "A page.") },
  },
  {
    ...SERVICE,
    path: "/verify",
    id: "verify_page",
    summary: "A page that verifies records in the visitor's browser",
    description:
      "Takes a bundle, a receipt, an attestation or a report; nothing that it is given leaves the visitor's machine.",
    answers: {
      200: bytes("text/html", "The page; it may be saved and opened from disk."),
      304: { description: "Unchanged since the ETag of If-None-Match." },
    },
  },
  {
    ...SERVICE,
    path: "/docs/{file}",
    id: "docs_file",
    summary: "Scripts and styles of the page",
    path_parameters: {
      file: { schema: { type: "string" }, description: "Name of a file of the page.", example: "page.js" },
    },
    answers: {
      200: bytes("*/*", "The file."),
      304: { description: "Unchanged since the ETag of If-None-Match." },
    },
    refusals: [404],
  },
]
