/** The table of endpoints. The OpenAPI document, the access of each route, its limit and its parameters follow from it. */
import type { Endpoint } from "./endpoint.ts"
import { APPROVAL_ENDPOINTS, type APPROVAL_ROUTES } from "./endpoints/approvals-endpoints.ts"
import { ATTESTATION_ENDPOINTS, type ATTESTATION_ROUTES } from "./endpoints/attestations-endpoints.ts"
import { DEPLOYMENT_ENDPOINTS, type DEPLOYMENT_ROUTES } from "./endpoints/deployment-endpoints.ts"
import { EVENT_ENDPOINTS, type EVENT_ROUTES } from "./endpoints/events-endpoints.ts"
import { EXECUTE_ENDPOINTS, type EXECUTE_ROUTES } from "./endpoints/execute-endpoints.ts"
import { HOOK_ENDPOINTS, type HOOK_ROUTES } from "./endpoints/hooks-endpoints.ts"
import {
  KEY_ENDPOINTS,
  type KEY_ROUTES,
  PUBLISHED_ENDPOINTS,
  type PUBLISHED_ROUTES,
  SHARED_ENDPOINTS,
  type SHARED_ROUTES,
} from "./endpoints/keys-endpoints.ts"
import { LOG_ENDPOINTS, type LOG_ROUTES, TRUST_ENDPOINTS, type TRUST_ROUTES } from "./endpoints/log-endpoints.ts"
import { PERMIT_ENDPOINTS, type PERMIT_ROUTES } from "./endpoints/permits-endpoints.ts"
import { POLICY_ENDPOINTS, type POLICY_ROUTES } from "./endpoints/policies-endpoints.ts"
import { RUN_ENDPOINTS, type RUN_ROUTES } from "./endpoints/runs-endpoints.ts"
import { SERVICE_ENDPOINTS, type SERVICE_ROUTES } from "./endpoints/service-endpoints.ts"
import { SESSION_ENDPOINTS, type SESSION_ROUTES } from "./endpoints/session-endpoints.ts"
import { TRACE_ENDPOINTS, type TRACE_ROUTES } from "./endpoints/traces-endpoints.ts"

/** Every endpoint. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...EXECUTE_ENDPOINTS,
  ...PERMIT_ENDPOINTS,
  ...APPROVAL_ENDPOINTS,
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

/** Their routes by identifier, as types. */
export type EndpointTable = typeof EXECUTE_ROUTES &
  typeof PERMIT_ROUTES &
  typeof APPROVAL_ROUTES &
  typeof HOOK_ROUTES &
  typeof RUN_ROUTES &
  typeof ATTESTATION_ROUTES &
  typeof KEY_ROUTES &
  typeof SHARED_ROUTES &
  typeof PUBLISHED_ROUTES &
  typeof POLICY_ROUTES &
  typeof DEPLOYMENT_ROUTES &
  typeof TRACE_ROUTES &
  typeof SESSION_ROUTES &
  typeof EVENT_ROUTES &
  typeof LOG_ROUTES &
  typeof TRUST_ROUTES &
  typeof SERVICE_ROUTES
