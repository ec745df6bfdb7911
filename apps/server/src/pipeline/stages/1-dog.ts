/** Stage 1, DOG: the envelope, the run's identity. */
import type { EnvelopeSection } from "@runseal/core/artifacts/sections"
import type { Moment } from "@runseal/core/formulas/moment"
import { envelopeSection } from "@runseal/core/formulas/pre-execution"
import type { Seal } from "@runseal/core/formulas/seal"
import type { BaseSections } from "../draft.ts"
import type { Submission } from "../submission.ts"

export const dog = (
  submission: Submission,
  moment: Moment,
  base: BaseSections,
  execution_region: string,
  sealAs: Seal,
): EnvelopeSection => {
  const { program_id, route_id, registry_record_hash, tenant } = submission
  const facts = { program_id, route_id, registry_record_hash, tenant_id: tenant.tenant_id, execution_region }
  return envelopeSection(facts, base.payload, base, moment, sealAs)
}
