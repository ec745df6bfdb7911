/** Any JSON object, as the strict parser returns it. Depth and numbers were judged there. */
import type { JsonObject } from "@runseal/canonical"
import * as v from "valibot"

/** An object as JSON has them: no list and no null. */
export const isJsonObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Metadata of a schema whose check holds a value against another schema: that schema. */
export const SHAPE = "shape"

export const jsonObjectSchema: v.GenericSchema<unknown, JsonObject> = v.pipe(
  v.custom<JsonObject>(isJsonObject, "must be a JSON object"),
  v.metadata({ type: "object" }),
)
