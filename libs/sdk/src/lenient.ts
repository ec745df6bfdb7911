/** Reading answers of later releases: the shapes are those of core/wire, held less strictly. */
import { servedReceiptAnchorSchema } from "@runseal/core/artifacts/anchor"
import { listedAttestationSchema } from "@runseal/core/artifacts/attestation-answer"
import { manifestSchema, partialManifestSchema } from "@runseal/core/artifacts/manifest"
import { allowTokenSchema, RECEIPT_SCHEMAS } from "@runseal/core/artifacts/sealed-artifacts"
import * as v from "valibot"

/** What is sealed has one shape for ever: a member more or less is a mistake there. */
const SEALED: ReadonlySet<unknown> = new Set([
  manifestSchema,
  partialManifestSchema,
  allowTokenSchema,
  servedReceiptAnchorSchema,
  listedAttestationSchema,
  ...Object.values(RECEIPT_SCHEMAS),
])

/**
 * The same shape for a reader: members that it does not name are left out, and texts and the lengths of lists are not judged. A later
 * release may say more. Sealed documents are held as strictly as ever.
 */
export const lenient = <T>(schema: v.GenericSchema<unknown, T>): v.GenericSchema<unknown, T> =>
  v.pipe(
    relaxed(schema),
    v.custom<T>(() => true),
  )

/** Schemas of valibot describe themselves: their parts are read with `part`. */
function relaxed(schema: v.GenericSchema): v.GenericSchema {
  if (SEALED.has(schema)) return schema
  const part = (name: string): unknown => Reflect.get(schema, name)
  switch (schema.type) {
    case "string":
      return v.string()
    case "strict_object":
      return v.object(Object.fromEntries(Object.entries(Object(part("entries"))).map(relaxedEntry)))
    case "exact_optional":
      return v.exactOptional(relaxedPart(part("wrapped")))
    case "nullable":
      return v.nullable(relaxedPart(part("wrapped")))
    case "array":
      return v.array(relaxedPart(part("item")))
    case "union": {
      const options = part("options")
      return Array.isArray(options) ? v.union(options.map(relaxedPart)) : schema
    }
    default:
      return schema
  }
}

const relaxedEntry = ([name, schema]: [string, unknown]): [string, v.GenericSchema] => [name, relaxedPart(schema)]

const relaxedPart = (schema: unknown): v.GenericSchema => (isSchema(schema) ? relaxed(schema) : v.never())

const isSchema = (value: unknown): value is v.GenericSchema =>
  typeof value === "object" && value !== null && "kind" in value && value.kind === "schema"
