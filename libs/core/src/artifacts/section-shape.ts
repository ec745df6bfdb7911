/** The shape that every section has: `{kind, …, hash}`; its hash covers everything else in it. */
import * as v from "valibot"
import { sha256Schema } from "../vocabulary/scalars.ts"

/** A section: its kind, its fields, and the hash over both. */
export const section = <const Kind extends string, const Fields extends v.ObjectEntries>(kind: Kind, fields: Fields) =>
  v.strictObject({ kind: v.literal(kind), ...fields, hash: sha256Schema })
