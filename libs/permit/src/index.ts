/** Permits of a Runseal service. docs/executors.md. */

export type { Fetch } from "./clock-and-network.ts"
export {
  PERMIT_ALGORITHM,
  PERMIT_HEADER,
  PERMIT_TYPE,
  type PermitClaims,
  type PermitFacts,
  permitClaims,
  permitClaimsSchema,
} from "./permit-claims.ts"
export { type Jwk, type Jwks, type PermitKeys, remoteKeys } from "./permit-keys.ts"
export { PERMIT_REFUSALS, type PermitRefusal, type RefusedPermit } from "./permit-refusals.ts"
export { openingClaims } from "./permitted-opening.ts"
export { type Redemption, redeemPermit } from "./redeem-permit.ts"
export { APPROVALS_HEADER, approvalsHeader, type ExpectedApprovals, type ProvenApprovals } from "./shown-approvals.ts"
export {
  type ExpectedAct,
  type ExpectedKeys,
  type ExpectedPermit,
  LEEWAY_MAX_SECONDS,
  type PermitVerdict,
  verifyPermit,
} from "./verify-permit.ts"
