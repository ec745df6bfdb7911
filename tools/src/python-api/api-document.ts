/** The OpenAPI document as the generator reads it. */
import { openApiDocument } from "@runseal/api/openapi/openapi-document"
import { SERVICE_VERSION } from "@runseal/server/options/config"

export type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema | false>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly enum?: readonly string[]
  readonly const?: string | number | boolean
  readonly additionalProperties?: Schema | false
  readonly not?: object
}
export type Parameter = {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly required: boolean
  readonly schema: Schema
  readonly "x-many-segments"?: true
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>
export type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const DOCUMENT: Document = JSON.parse(JSON.stringify(openApiDocument(SERVICE_VERSION)))
export const SCHEMAS = DOCUMENT.components.schemas

export type Endpoint = { readonly method: string; readonly path: string; readonly operation: Operation }
export const ENDPOINTS: readonly Endpoint[] = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

export const nameOf = ({ $ref }: Schema): string | undefined => $ref?.slice($ref.lastIndexOf("/") + 1)

/** The schema behind a reference. */
export function resolved(schema: Schema): Schema {
  const name = nameOf(schema)
  if (name === undefined) return schema
  const found = SCHEMAS[name]
  if (found === undefined) throw new Error(`The document has no schema ${name}.`)
  return found
}

/** Whether no value fits: a member that may not be there. */
export const isNever = ({ not, anyOf = [] }: Schema): boolean =>
  (not !== undefined && Object.keys(not).length === 0) ||
  (anyOf.length > 0 && anyOf.every(each => each.type === "null" || isNever(each)))

/** The first answer of an operation that is no refusal. */
export function answerOf({ operationId, responses }: Operation): { readonly type: string; readonly schema?: Schema } {
  const status = ["201", "200"].find(each => responses[each]?.content !== undefined)
  const [[type, media] = []] = Object.entries(responses[status ?? ""]?.content ?? {})
  if (type === undefined) throw new Error(`${operationId} has no answer.`)
  return { type, ...media }
}

export const bodyOf = ({ requestBody }: Operation): Schema | undefined =>
  requestBody?.content["application/json"]?.schema
