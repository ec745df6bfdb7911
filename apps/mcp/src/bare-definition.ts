/** A tool as far as its caller must know it, without a word that its server wrote for the model: for a definition that is not reviewed yet. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { isObject } from "./json-rpc.ts"

/** A name is no sentence. */
const NAME = /^[\w.$-]{1,64}$/
/** Members of a JSON Schema that hold plain values: no schema and no text for people. */
const PLAIN = [
  ...["type", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"],
  ...["maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "nullable"],
  ...["required", "enum", "const"],
]
const SCHEMAS_BY_NAME = ["properties", "$defs", "definitions"]
const SCHEMAS = ["items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems", "not"]

export const bareDefinition = (name: string, { inputSchema }: JsonObject): JsonObject => ({
  name,
  description: "Runseal: this description is not reviewed yet.",
  inputSchema: { ...Object(bareSchema(inputSchema)), type: "object" },
})

function bareSchema(schema: JsonValue | undefined): JsonValue {
  if (Array.isArray(schema)) return schema.map(bareSchema)
  if (!isObject(schema)) return schema === false ? false : {}
  const members = Object.entries(schema).flatMap(([name, value]): (readonly [string, JsonValue])[] => {
    if (PLAIN.includes(name)) return isPlain(value) ? [[name, value]] : []
    if (SCHEMAS.includes(name)) return [[name, bareSchema(value)]]
    if (name === "$ref") return typeof value === "string" && /^#[\w/$.-]{1,128}$/.test(value) ? [[name, value]] : []
    if (!SCHEMAS_BY_NAME.includes(name) || !isObject(value)) return []
    const schemas = Object.entries(value).filter(([key]) => NAME.test(key))
    return [[name, Object.fromEntries(schemas.map(([key, one]) => [key, bareSchema(one)]))]]
  })
  return Object.fromEntries(members)
}

/** A number, a truth value, a name, or a list of these. */
const isPlain = (value: JsonValue): boolean =>
  Array.isArray(value)
    ? value.every(item => !Array.isArray(item) && isPlain(item))
    : typeof value === "string"
      ? NAME.test(value)
      : typeof value !== "object"
