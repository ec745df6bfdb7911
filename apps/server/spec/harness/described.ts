/**
 * Holds what the service answers against what its OpenAPI document says: every answer of every test passes here, so that
 * each status and each body that was ever seen is described.
 */

import { openApiDocument } from "@runseal/api/openapi/openapi-document"
import type { JsonObject } from "@runseal/canonical"
import { SERVICE_VERSION } from "../../src/options/config.ts"
import { Ajv2020, addFormats } from "./ajv.ts"

export type Described = {
  readonly method: string
  /** Path with query. */
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

type Header = { readonly schema: object; readonly required?: boolean }
type Examples = Readonly<Record<string, { readonly value: JsonObject }>>
type Media = { readonly schema?: object; readonly examples?: Examples }
export type ResponseObject = {
  readonly $ref?: string
  readonly headers?: Readonly<Record<string, Header>>
  readonly content?: Readonly<Record<string, Media>>
}
export type Parameter = {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly required: boolean
  readonly schema: object
  readonly example?: string | number
  readonly "x-many-segments"?: true
}
export type OperationObject = {
  readonly operationId: string
  readonly security: readonly object[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { schema: object; example?: object; examples?: Examples }>>
  }
  readonly responses: Readonly<Record<string, ResponseObject>>
}
export type Document = {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly responses: Readonly<Record<string, ResponseObject>>
  }
}

/** The document as it is served. */
export const DOCUMENT: Document = JSON.parse(JSON.stringify(openApiDocument(SERVICE_VERSION)))

const DOCUMENT_ID = "https://runseal.test/openapi.json"
const ajv = new Ajv2020({ strict: true, validateSchema: false, coerceTypes: false })
addFormats(ajv)
// The document's own members, which are no keywords of JSON Schema.
ajv.addVocabulary(Object.keys(DOCUMENT))
ajv.addSchema({ $id: DOCUMENT_ID, ...DOCUMENT })

const pointer = (...path: readonly string[]): string =>
  path.map(key => `/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("")

/** Why a value is not what the schema at a place of the document wants; undefined when it is. Validators are compiled once. */
export function mismatch(value: unknown, ...place: readonly string[]): string | undefined {
  const validate = ajv.getSchema(`${DOCUMENT_ID}#${pointer(...place)}`)
  if (validate === undefined) throw new Error(`the document has no schema at ${place.join(" ")}`)
  return validate(value) === true ? undefined : ajv.errorsText(validate.errors, { dataVar: "answer" })
}

export type Endpoint = { readonly method: string; readonly template: string; readonly operation: OperationObject }

/** Every operation of the document. */
export const ENDPOINTS: readonly Endpoint[] = Object.entries(DOCUMENT.paths).flatMap(([template, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), template, operation })),
)

/** Most specific templates first. */
const MATCHERS = ENDPOINTS.map(endpoint => ({ ...endpoint, pattern: patternOf(endpoint) })).sort(
  (a, b) => literal(b.template).length - literal(a.template).length,
)

function literal(template: string): string {
  return template.replaceAll(/\{\w+\}/g, "")
}

function patternOf({ template, operation }: Endpoint): RegExp {
  const source = template.split(/(\{\w+\})/).map(part => {
    if (!part.startsWith("{")) return part.replaceAll(/[.]/g, "\\.")
    const parameter = operation.parameters?.find(({ name }) => name === part.slice(1, -1))
    return parameter?.["x-many-segments"] === true ? ".+" : "[^/]+"
  })
  return new RegExp(`^${source.join("")}$`)
}

/** The operation a request is for; a HEAD is answered as its GET. */
export function endpointOf(method: string, path: string): Endpoint | undefined {
  const asked = method === "HEAD" ? "GET" : method
  const { pathname } = new URL(path, DOCUMENT_ID)
  return MATCHERS.find(matcher => matcher.method === asked && matcher.pattern.test(pathname))
}

/** Statuses of paths and methods that are no endpoint. */
const NOWHERE = [400, 401, 403, 404, 405, 429, 503]

/** @throws Error naming the difference when the document does not describe the answer */
export function expectDescribed(answer: Described): void {
  const problem = problemOf(answer)
  if (problem === undefined) return
  const { method, path, status, text } = answer
  throw new Error(`${method} ${path} answered ${status}, against its description: ${problem}\n${text.slice(0, 500)}`)
}

function problemOf(answer: Described): string | undefined {
  const endpoint = endpointOf(answer.method, answer.path)
  if (endpoint === undefined) {
    // A trailing slash leads to its endpoint.
    if (answer.status === 308 && answer.text === "") return undefined
    if (!NOWHERE.includes(answer.status)) return "this is no endpoint"
    return bodyProblem(answer, DOCUMENT.components.responses.NotFound ?? {}, ["components", "responses", "NotFound"])
  }
  const { template, method, operation } = endpoint
  const found = operation.responses[answer.status]
  if (found === undefined) return "the status is not described"
  const name = found.$ref?.slice("#/components/responses/".length)
  const place =
    name === undefined
      ? ["paths", template, method.toLowerCase(), "responses", `${answer.status}`]
      : ["components", "responses", name]
  const response = name === undefined ? found : (DOCUMENT.components.responses[name] ?? {})
  return headerProblem(answer, response, place) ?? bodyProblem(answer, response, place)
}

function headerProblem({ headers }: Described, response: ResponseObject, place: readonly string[]): string | undefined {
  for (const [name, { required, schema }] of Object.entries(response.headers ?? {})) {
    const text = headers.get(name)
    if (text === null && required === true) return `the header ${name} is missing`
    if (text === null) continue
    const value = "type" in schema && schema.type === "integer" && /^\d+$/.test(text) ? Number(text) : text
    const problem = mismatch(value, ...place, "headers", name, "schema")
    if (problem !== undefined) return `${name}: ${problem}`
  }
  return undefined
}

function bodyProblem(
  { method, headers, text }: Described,
  { content }: ResponseObject,
  place: readonly string[],
): string | undefined {
  if (content === undefined) return text === "" ? undefined : "a body was not described"
  const essence = headers.get("content-type")?.split(";")[0]?.trim() ?? ""
  const type = [essence, "*/*"].find(name => Object.hasOwn(content, name))
  if (type === undefined) return `the content type ${essence} is not described`
  if (content[type]?.schema === undefined || method === "HEAD") return undefined
  const value: unknown = type === "application/json" ? JSON.parse(text) : text
  return mismatch(value, ...place, "content", type, "schema")
}
