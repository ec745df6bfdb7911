/** The table of endpoints. The OpenAPI document, the access of each route, its limit and its parameters follow from it. */
import type { Endpoint } from "./endpoint.ts"
import { ATTESTATION_ENDPOINTS } from "./endpoints/attestations-endpoints.ts"
import { DEPLOYMENT_ENDPOINTS } from "./endpoints/deployment-endpoints.ts"
import { EVENT_ENDPOINTS } from "./endpoints/events-endpoints.ts"
import { EXECUTE_ENDPOINTS } from "./endpoints/execute-endpoints.ts"
import { HOOK_ENDPOINTS } from "./endpoints/hooks-endpoints.ts"
import { KEY_ENDPOINTS, PUBLISHED_ENDPOINTS, SHARED_ENDPOINTS } from "./endpoints/keys-endpoints.ts"
import { LOG_ENDPOINTS, TRUST_ENDPOINTS } from "./endpoints/log-endpoints.ts"
import { PERMIT_ENDPOINTS } from "./endpoints/permits-endpoints.ts"
import { POLICY_ENDPOINTS } from "./endpoints/policies-endpoints.ts"
import { RUN_ENDPOINTS } from "./endpoints/runs-endpoints.ts"
import { SERVICE_ENDPOINTS } from "./endpoints/service-endpoints.ts"
import { SESSION_ENDPOINTS } from "./endpoints/session-endpoints.ts"
import { TRACE_ENDPOINTS } from "./endpoints/traces-endpoints.ts"

/** Every endpoint. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...EXECUTE_ENDPOINTS,
  ...PERMIT_ENDPOINTS,
  ...HOOK_ENDPOINTS,
  ...RUN_ENDPOINTS,
  ...ATTESTATION_ENDPOINTS,
  ...KEY_ENDPOINTS,
  ...SHARED_ENDPOINTS,
  ...PUBLISHED_ENDPOINTS,
  ...POLICY_ENDPOINTS,
  ...DEPLOYMENT_ENDPOINTS,
  ...TRACE_ENDPOINTS,
  ...SESSION_ENDPOINTS,
  ...EVENT_ENDPOINTS,
  ...LOG_ENDPOINTS,
  ...TRUST_ENDPOINTS,
  ...SERVICE_ENDPOINTS,
]
