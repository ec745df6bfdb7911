/** Every target, by name. */
import type { FuzzTarget } from "./fuzz-target.ts"
import { documents, entries, exports } from "./targets/documents.ts"
import { derSignatures, entryBodies, publicKeys, scalars, tiles } from "./targets/encodings.ts"
import { plainValues, strictJson, trustDocuments } from "./targets/json.ts"
import { checkpoints, cosignatures, signedNotes, verifierKeys } from "./targets/notes.ts"
import { rekorAnswers, rekorV2Answers } from "./targets/rekor.ts"
import { reports } from "./targets/report.ts"
import { executeBodies } from "./targets/requests.ts"
import { certificates, timestamps } from "./targets/timestamps.ts"

export const TARGETS: readonly FuzzTarget[] = [
  ...[strictJson, plainValues, scalars, executeBodies],
  ...[signedNotes, checkpoints, cosignatures, verifierKeys],
  ...[tiles, derSignatures, publicKeys, entryBodies, entries],
  ...[rekorAnswers, rekorV2Answers, timestamps, certificates],
  ...[trustDocuments, documents, exports, reports],
]
