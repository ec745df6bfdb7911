/**
 * JSON Schema 2020-12 of the schemas the server enforces. A check that is only code must be described by `v.metadata` or
 * `v.description`: a schema with an undescribed check makes the document fail.
 */
import { SHAPE } from "@runseal/core/artifacts/json-object-schema"
import { type ConversionConfig, type JsonSchema, toJsonSchema, toJsonSchemaDefs } from "@valibot/to-json-schema"
import type { AnySchema } from "../endpoint.ts"

/** Schemas that the document writes once, under their names. */
export type NamedSchemas = Readonly<Record<string, AnySchema>>

/** Marks a schema with a check that is only code, until its description follows. */
const UNDESCRIBED = "x-undescribed"

export type SchemaWriter = {
  readonly components: () => Readonly<Record<string, object>>
  /** What a body or an answer must be. */
  readonly document: (schema: AnySchema) => object
  /** What a text becomes once it is read: parameters. */
  readonly parameters: (schema: AnySchema) => Pick<JsonSchema, "properties" | "required">
}

/** Its functions throw for a schema that checks more than it describes, and name the place. */
export function schemaWriter(named: NamedSchemas): SchemaWriter {
  const config: ConversionConfig = {
    target: "draft-2020-12",
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
    overrideSchema: ({ valibotSchema }) => (valibotSchema.type === "custom" ? markUndescribed({}) : undefined),
    overrideAction: ({ valibotAction, jsonSchema }) => {
      switch (valibotAction.type) {
        case "check":
        case "raw_check":
          return markUndescribed(jsonSchema)
        case "metadata":
        case "description":
          return withShape(withoutMark(jsonSchema))
        default:
          return undefined
      }
    },
  }
  const convert = (schema: AnySchema, typeMode: "ignore" | "output", definitions = { ...named }): JsonSchema => {
    const converted = toJsonSchema(schema, { ...config, typeMode, definitions })
    const { $schema: _schema, $defs: _defs, ...found } = converted
    return requireDescribed(found)
  }
  const withShape = (schema: JsonSchema): JsonSchema => {
    const { [SHAPE]: shape, ...rest }: JsonSchema & { [SHAPE]?: AnySchema } = schema
    // A shape is written in place, without references: named ones would be converted within themselves.
    return shape === undefined ? schema : { ...rest, ...convert(shape, "ignore", {}) }
  }
  return {
    components: () => requireDescribed(toJsonSchemaDefs({ ...named }, config)),
    document: schema => convert(schema, "ignore"),
    parameters: schema => convert(schema, "output"),
  }
}

const markUndescribed = (schema: JsonSchema): JsonSchema => Object.assign({}, schema, { [UNDESCRIBED]: true })

function withoutMark(schema: JsonSchema): JsonSchema {
  const { [UNDESCRIBED]: _mark, ...rest }: JsonSchema & { [UNDESCRIBED]?: unknown } = schema
  return rest
}

function requireDescribed<T extends object>(schema: T): T {
  const path = pathOfUndescribed(schema)
  if (path !== undefined) throw new Error(`a check of the schema at /${path.join("/")} is not described in JSON Schema`)
  return schema
}

function pathOfUndescribed(value: unknown): readonly string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined
  if (Object.hasOwn(value, UNDESCRIBED)) return []
  for (const [key, child] of Object.entries(value)) {
    const path = pathOfUndescribed(child)
    if (path !== undefined) return [key, ...path]
  }
  return undefined
}
