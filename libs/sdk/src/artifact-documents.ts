/** The answers of the sealed artifact endpoints, each a document of its own. docs/api.md, "Sealed artifacts". */
import { type ServedReceiptAnchor, servedReceiptAnchorSchema } from "@runseal/core/artifacts/anchor"
import {
  type AllowToken,
  allowTokenSchema,
  RECEIPT_SCHEMAS,
  type Receipts,
} from "@runseal/core/artifacts/sealed-artifacts"
import { type ArtifactKey, OUTCOME_KINDS, OUTCOMES, type ReceiptKey } from "@runseal/core/vocabulary/outcomes"
import { ordinalSchema } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"
import { InvalidArgumentError } from "./errors.ts"

type Served = { readonly ok: true; readonly run_id: number }

/** A receipt's answer can be verified by itself; an allow token's cannot: verify the run's bundle. */
export type ArtifactDocuments = {
  readonly [Key in ReceiptKey]: Served & Pick<Receipts, Key> & { readonly receipt_anchor?: ServedReceiptAnchor }
} & { readonly allow_token: Served & { readonly allow_token: AllowToken } }

const served = { ok: v.literal(true), run_id: ordinalSchema }
const receipt = { ...served, receipt_anchor: v.exactOptional(servedReceiptAnchorSchema) }

export const ARTIFACT_DOCUMENTS: {
  readonly [Key in ArtifactKey]: v.GenericSchema<unknown, ArtifactDocuments[Key]>
} = {
  allow_token: v.object({ ...served, allow_token: allowTokenSchema }),
  deny_receipt: v.object({ ...receipt, deny_receipt: RECEIPT_SCHEMAS.deny_receipt }),
  ccv_halt_receipt: v.object({ ...receipt, ccv_halt_receipt: RECEIPT_SCHEMAS.ccv_halt_receipt }),
  macc_halt_receipt: v.object({ ...receipt, macc_halt_receipt: RECEIPT_SCHEMAS.macc_halt_receipt }),
  aivp_t4_halt_receipt: v.object({ ...receipt, aivp_t4_halt_receipt: RECEIPT_SCHEMAS.aivp_t4_halt_receipt }),
  attestation_gap_receipt: v.object({ ...receipt, attestation_gap_receipt: RECEIPT_SCHEMAS.attestation_gap_receipt }),
}

/** The last part of an artifact's path. @throws InvalidArgumentError for a name that is no artifact's */
export function artifactPath(key: ArtifactKey): string {
  const kind = OUTCOME_KINDS.find(candidate => OUTCOMES[candidate].artifact?.key === key)
  const path = kind && OUTCOMES[kind].artifact?.path
  if (path === undefined) throw new InvalidArgumentError("There is no such artifact.")
  return path
}
