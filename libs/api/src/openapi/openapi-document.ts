/**
 * The OpenAPI 3.1 document, made of the schemas the server enforces. The tests hold every route, every status and every
 * answer of the whole suite against it.
 */
import { END_USER_HEADER, END_USER_TOKEN_MAX_LENGTH, END_USER_TOKEN_PATTERN } from "@runseal/core/wire/end-user-token"
import { ERROR_CODE_NAMES, ERROR_CODES, REQUEST_ID_HEADER, REQUEST_ID_MAX_LENGTH } from "@runseal/core/wire/error-codes"
import {
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENCY_KEY_MAX_LENGTH,
  IDEMPOTENCY_KEY_PATTERN,
  IDEMPOTENCY_REPLAYED_HEADER,
} from "@runseal/core/wire/idempotency-key"
import { KEY_HEADER } from "@runseal/core/wire/key-requests"
import { CSRF_HEADER } from "@runseal/core/wire/session-requests"
import type { Answer, Endpoint } from "../endpoint.ts"
import { ENDPOINTS } from "../endpoints.ts"
import { NAMED_SCHEMAS } from "./components.ts"
import { type SchemaWriter, schemaWriter } from "./json-schema.ts"
import { RATE_LIMIT_HEADERS, REFUSALS, refusalsOf } from "./refusals.ts"

const DESCRIPTION = `Takes payloads through a nine-stage pipeline and seals every outcome into a record that verifies offline.

While no key was ever created every caller is anonymous; afterwards \`${KEY_HEADER}\` is needed wherever an endpoint says so. A
refused request is \`{"ok": false, "error": "<one sentence>", "code": "<one of the list>", "request_id": "<id>"}\`; so is an unknown
endpoint, with status 404, and a method that an endpoint does not have, with status 405. Every answer has \`${REQUEST_ID_HEADER}\`: the
caller's, where it sent one of 1 to ${REQUEST_ID_MAX_LENGTH} letters, digits, \`_\`, \`-\` and \`=\`, otherwise a UUID. A query parameter that an endpoint does
not have, or that is given twice, is refused with 400. Unknown top-level members of a body are refused with 400, or ignored and named
in the answer where its schema has \`ignored\`.

| code | status | meaning |
|---|---|---|
${ERROR_CODE_NAMES.map(code => `| \`${code}\` | ${ERROR_CODES[code].status} | ${ERROR_CODES[code].meaning} |`).join("\n")}`

const SCHEME = "service_key"
const SESSION_SCHEME = "session"

/**
 * @param version of the service
 * @param baseUrl address under which callers reach it, if the operator gave one
 */
export function openApiDocument(version: string, baseUrl?: string, endpoints: readonly Endpoint[] = ENDPOINTS): object {
  const write = schemaWriter(NAMED_SCHEMAS)
  const responses = Object.values(REFUSALS).map(({ name, answer }) => [name, answerObject(answer, write)])
  return {
    openapi: "3.1.0",
    info: {
      title: "Runseal",
      version,
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: baseUrl ?? "/" }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map(name => ({ name })),
    paths: pathsObject(endpoints, write),
    components: {
      securitySchemes: {
        [SCHEME]: { type: "apiKey", in: "header", name: KEY_HEADER, description: "A key of POST /admin/keys." },
        [SESSION_SCHEME]: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-runseal-session",
          description: `A session of POST /session. Methods but GET and HEAD also need the header ${CSRF_HEADER}.`,
        },
      },
      schemas: write.components(),
      responses: Object.fromEntries(responses),
    },
  }
}

function pathsObject(endpoints: readonly Endpoint[], write: SchemaWriter): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of endpoints)
    paths[operation.path] = { ...paths[operation.path], [operation.method]: operationObject(operation, write) }
  return paths
}

function operationObject(operation: Endpoint, write: SchemaWriter): object {
  const { id, tag, summary, description, access, body } = operation
  const parameters = [
    ...pathParameters(operation),
    ...queryParameters(operation, write),
    ...(operation.idempotent === undefined ? [] : [IDEMPOTENCY_KEY]),
    ...(operation.once === undefined ? [] : [USED_UP_KEY]),
    ...(operation.end_user === undefined ? [] : [END_USER_TOKEN]),
  ]
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    // The empty requirement is open mode's.
    security: access === "public" ? [] : [{ [SCHEME]: [] }, { [SESSION_SCHEME]: [] }, {}],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: bodyObject(body, write) }),
    responses: responsesObject(operation, write),
  }
}

/** draft-ietf-httpapi-idempotency-key-header. */
const IDEMPOTENCY_KEY = {
  name: IDEMPOTENCY_KEY_HEADER,
  in: "header",
  required: false,
  description: `Makes the request safe to send again: a later one with this key and the same body gets the first answer. One string of 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} printable ASCII characters, in double quotes; a new one, such as a UUID, for each new run.`,
  schema: { type: "string", pattern: IDEMPOTENCY_KEY_PATTERN },
}
/** The same header where no answer is repeated, because it may hold a secret. */
const USED_UP_KEY = {
  ...IDEMPOTENCY_KEY,
  description: `The action is done once under this key: a later request with it is answered 409 \`already_done\`. One string of 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} printable ASCII characters, in double quotes; a new one, such as a UUID, for each new action.`,
}
/** RFC 9068. */
const END_USER_TOKEN = {
  name: END_USER_HEADER,
  in: "header",
  required: false,
  description:
    "Access token, a JWT, of the person for whom the agent acts; the deployment can require it. It is verified, and who the person is becomes part of the record; the token is neither stored nor logged.",
  schema: { type: "string", pattern: END_USER_TOKEN_PATTERN, maxLength: END_USER_TOKEN_MAX_LENGTH },
}
const REPLAYED: Answer["headers"] = {
  [IDEMPOTENCY_REPLAYED_HEADER]: {
    description: "The answer was given before, to the first request under this idempotency key.",
    schema: { const: "true" },
  },
}

const pathParameters = ({ path_parameters = {} }: Endpoint): readonly object[] =>
  Object.entries(path_parameters).map(([name, { schema, description, example, many_segments }]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema,
    example,
    ...(many_segments === undefined ? {} : { "x-many-segments": true }),
  }))

function queryParameters({ query }: Endpoint, write: SchemaWriter): readonly object[] {
  if (query === undefined) return []
  const { properties = {}, required = [] } = write.parameters(query)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }))
}

const bodyObject = (
  { schema, max_bytes, example, examples }: NonNullable<Endpoint["body"]>,
  write: SchemaWriter,
): object => ({
  required: true,
  description: `Strict JSON (I-JSON) of at most ${max_bytes} bytes.`,
  content: {
    "application/json": { schema: write.document(schema), ...(example && { example }), ...(examples && { examples }) },
  },
})

function responsesObject(operation: Endpoint, write: SchemaWriter): object {
  const limited = operation.limit === undefined ? {} : RATE_LIMIT_HEADERS
  const common = { ...limited, ...(operation.idempotent === undefined ? {} : REPLAYED) }
  const responses: Record<string, object> = {}
  for (const [status, answer] of Object.entries(operation.answers)) {
    if (answer === undefined) continue
    responses[status] = answerObject({ ...answer, headers: { ...answer.headers, ...common } }, write)
  }
  for (const status of refusalsOf(operation))
    responses[status] = { $ref: `#/components/responses/${REFUSALS[status].name}` }
  return responses
}

function answerObject({ description, content, or_page, headers = {} }: Answer, write: SchemaWriter): object {
  const page = or_page === true ? { "text/html": { schema: { type: "string" } } } : {}
  return {
    description,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(content === undefined ? {} : { content: { [content.type]: mediaType(content, write), ...page } }),
  }
}

function mediaType({ schema, binary, examples }: NonNullable<Answer["content"]>, write: SchemaWriter): object {
  if (schema !== undefined) return { schema: write.document(schema), ...(examples && { examples }) }
  // OpenAPI 3.1 says of raw bytes nothing but their media type.
  return binary === true ? {} : { schema: { type: "string" } }
}
