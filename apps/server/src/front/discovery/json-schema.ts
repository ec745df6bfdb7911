/**
 * JSON Schema 2020-12 of the schemas the server enforces. A check that is code alone must be said beside it, by
 * `v.metadata` or `v.description`: a schema with an unsaid check is refused when the document is made.
 */
import { SHAPE } from "@runseal/core/artifacts/json-object-schema"
import { type ConversionConfig, type JsonSchema, toJsonSchema, toJsonSchemaDefs } from "@valibot/to-json-schema"
import type { BaseIssue, BaseSchema } from "valibot"

export type AnySchema = BaseSchema<unknown, unknown, BaseIssue<unknown>>
/** Schemas that stand in the document once, under their names. */
export type NamedSchemas = Readonly<Record<string, AnySchema>>

/** Stands in a schema between a check that is code and the words that say it. */
const UNSAID = "x-unsaid"

export type SchemaWriter = {
  readonly components: () => Readonly<Record<string, object>>
  /** What a body or an answer must be. */
  readonly document: (schema: AnySchema) => object
  /** What a text becomes once it is read: parameters. */
  readonly parameters: (schema: AnySchema) => Pick<JsonSchema, "properties" | "required">
}

/** Its functions throw for a schema that says less than it checks, and name the place. */
export function schemaWriter(named: NamedSchemas): SchemaWriter {
  const config: ConversionConfig = {
    target: "draft-2020-12",
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
    overrideSchema: ({ valibotSchema }) => (valibotSchema.type === "custom" ? unsaid({}) : undefined),
    overrideAction: ({ valibotAction, jsonSchema }) => {
      switch (valibotAction.type) {
        case "check":
        case "raw_check":
          return unsaid(jsonSchema)
        case "metadata":
        case "description":
          return withShape(said(jsonSchema))
        default:
          return undefined
      }
    },
  }
  const convert = (schema: AnySchema, typeMode: "ignore" | "output", definitions = { ...named }): JsonSchema => {
    const converted = toJsonSchema(schema, { ...config, typeMode, definitions })
    const { $schema: _schema, $defs: _defs, ...found } = converted
    return everythingSaid(found)
  }
  const withShape = (schema: JsonSchema): JsonSchema => {
    const { [SHAPE]: shape, ...rest }: JsonSchema & { [SHAPE]?: AnySchema } = schema
    // A shape is written out where it stands: named ones would be converted within themselves.
    return shape === undefined ? schema : { ...rest, ...convert(shape, "ignore", {}) }
  }
  return {
    components: () => everythingSaid(toJsonSchemaDefs({ ...named }, config)),
    document: schema => convert(schema, "ignore"),
    parameters: schema => convert(schema, "output"),
  }
}

const unsaid = (schema: JsonSchema): JsonSchema => Object.assign({}, schema, { [UNSAID]: true })

function said(schema: JsonSchema): JsonSchema {
  const { [UNSAID]: _mark, ...rest }: JsonSchema & { [UNSAID]?: unknown } = schema
  return rest
}

function everythingSaid<T extends object>(schema: T): T {
  const path = pathOfUnsaid(schema)
  if (path !== undefined) throw new Error(`a check of the schema at /${path.join("/")} is not said in JSON Schema`)
  return schema
}

function pathOfUnsaid(value: unknown): readonly string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined
  if (Object.hasOwn(value, UNSAID)) return []
  for (const [key, child] of Object.entries(value)) {
    const path = pathOfUnsaid(child)
    if (path !== undefined) return [key, ...path]
  }
  return undefined
}
