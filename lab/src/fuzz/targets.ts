/** Every target, by name. */
import type { FuzzTarget } from "./fuzz-target.ts"
import { documents, entries, exports } from "./targets/documents-targets.ts"
import { derSignatures, entryBodies, publicKeys, scalars, tiles } from "./targets/encodings-targets.ts"
import { plainValues, strictJson, trustDocuments } from "./targets/json-targets.ts"
import { checkpoints, cosignatures, signedNotes, verifierKeys } from "./targets/notes-targets.ts"
import { rekorAnswers, rekorV2Answers } from "./targets/rekor-targets.ts"
import { reports } from "./targets/report-targets.ts"
import { executeBodies } from "./targets/requests-targets.ts"
import { certificates, timestamps } from "./targets/timestamps-targets.ts"

export const TARGETS: readonly FuzzTarget[] = [
  ...[strictJson, plainValues, scalars, executeBodies],
  ...[signedNotes, checkpoints, cosignatures, verifierKeys],
  ...[tiles, derSignatures, publicKeys, entryBodies, entries],
  ...[rekorAnswers, rekorV2Answers, timestamps, certificates],
  ...[trustDocuments, documents, exports, reports],
]
