/** What witnesses signed of the log after a record was sealed. docs/formats.md section 9. */
import { base64Schema } from "@runseal/log/entries/log-entry"
import { HASH_BYTES } from "@runseal/log/merkle/rfc6962"
import { MAX_NOTE_LENGTH } from "@runseal/log/notes/signed-note"
import * as v from "valibot"
import { nonEmptySchema, type Shape } from "../vocabulary/scalars.ts"

/** An RFC 6962 path in a tree of at most 2^53 − 1 leaves. */
const MAX_PATH_HASHES = 53
const pathSchema = v.pipe(v.array(base64Schema(HASH_BYTES, HASH_BYTES)), v.maxLength(MAX_PATH_HASHES))
export const witnessedSchema = v.strictObject({
  /** A signed note: the log's checkpoint with its own signature and those of witnesses. */
  checkpoint: v.pipe(nonEmptySchema, v.maxLength(MAX_NOTE_LENGTH)),
  pre_anchor: v.exactOptional(pathSchema),
  receipt: v.exactOptional(pathSchema),
  complete_record: v.exactOptional(pathSchema),
})
/** A later checkpoint of the service's own log that witnesses cosigned, with the path of each entry of the record to its root, base64. */
export type Witnessed = Shape<typeof witnessedSchema>
