/** Shapes of core/wire for a reader of later releases: less strict. */
import { servedReceiptAnchorSchema } from "@runseal/core/artifacts/anchor"
import { attestationAnswerSchema, listedAttestationSchema } from "@runseal/core/artifacts/attestation-answer"
import { CHAIN_DOCUMENTS } from "@runseal/core/artifacts/chain-documents"
import { manifestSchema, partialManifestSchema } from "@runseal/core/artifacts/manifest"
import { allowTokenSchema, RECEIPT_SCHEMAS } from "@runseal/core/artifacts/sealed-artifacts"
import { dsseEnvelopeSchema } from "@runseal/log/entries/dsse"
import * as v from "valibot"

/** Sealed documents have one fixed shape: an unknown or missing member is an error. */
const SEALED: ReadonlySet<unknown> = new Set([
  manifestSchema,
  partialManifestSchema,
  allowTokenSchema,
  servedReceiptAnchorSchema,
  attestationAnswerSchema,
  listedAttestationSchema,
  dsseEnvelopeSchema,
  ...Object.values(CHAIN_DOCUMENTS),
  ...Object.values(RECEIPT_SCHEMAS),
])

/**
 * The same shape for a reader: unknown members are left out, and text formats, closed lists of texts and list lengths are not checked,
 * since a later release may extend them. Sealed documents are still read strictly.
 */
export const lenient = <T>(schema: v.GenericSchema<unknown, T>): v.GenericSchema<unknown, T> =>
  v.pipe(
    relaxed(schema),
    v.custom<T>(() => true),
  )

/** Rebuilds a schema; valibot schemas describe themselves, and `part` reads their parts. */
function relaxed(schema: v.GenericSchema): v.GenericSchema {
  if (SEALED.has(schema)) return schema
  const part = (name: string): unknown => Reflect.get(schema, name)
  switch (schema.type) {
    case "string":
    case "picklist":
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
    case "variant":
      // A later release has further ones: only the member that tells them apart is checked.
      return v.looseObject({ [`${part("key")}`]: v.string() })
    default:
      return schema
  }
}

const relaxedEntry = ([name, schema]: [string, unknown]): [string, v.GenericSchema] => [name, relaxedPart(schema)]

const relaxedPart = (schema: unknown): v.GenericSchema => (isSchema(schema) ? relaxed(schema) : v.never())

const isSchema = (value: unknown): value is v.GenericSchema =>
  typeof value === "object" && value !== null && "kind" in value && value.kind === "schema"
