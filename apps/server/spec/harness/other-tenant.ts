/** Runs of keys that cannot call yet: sealed through the service's own pipeline and sealer. */
import { createHash } from "node:crypto"
import type { Submission, Tenant } from "@runseal/core/wire/submission"
import type { SealedRun } from "../../src/sealing/batch.ts"
import { PROGRAM_ID, REGISTRY_RECORD_HASH, ROUTE_ID } from "./sample-requests.ts"
import type { TestService } from "./test-service.ts"

const hash = (text: string): string => createHash("sha256").update(text).digest("hex")

/** Executes a submission as the owner of another key would. */
export function sealAs(service: TestService, tenant: Tenant, changes: Partial<Submission> = {}): Promise<SealedRun> {
  const authentication = { method: "api_key", api_key_id: tenant.owner, api_key_name: tenant.tenant_id } as const
  return service.deps.execute({
    tenant,
    program_id: PROGRAM_ID,
    route_id: ROUTE_ID,
    registry_record_hash: REGISTRY_RECORD_HASH,
    payload: "of another key",
    declared: { attested_context: { actor_id: "agent-8", model_name: "model-b" } },
    origin: { source_ip_hash: hash("address"), user_agent_hash: hash("agent"), authentication },
    declared_tokens: 0,
    ...changes,
  })
}
