/** Permits of a Runseal service. docs/executors.md. */

export type { Fetch } from "./clock-and-network.ts"
export {
  AUDIENCE_MAX_LENGTH,
  audienceSchema,
  PERMIT_ALGORITHM,
  PERMIT_HEADER,
  PERMIT_MAX_LENGTH,
  PERMIT_TYPE,
  type PermitClaims,
  type PermitFacts,
  permitClaims,
  permitClaimsSchema,
  permitIdSchema,
} from "./permit-claims.ts"
export { type Jwk, type Jwks, type PermitKeys, remoteKeys } from "./permit-keys.ts"
export { PERMIT_REFUSALS, type PermitRefusal, type RefusedPermit } from "./permit-refusals.ts"
export { type PermitSigningKey, signPermit } from "./sign-permit.ts"
export { type ExpectedPermit, LEEWAY_MAX_SECONDS, type PermitVerdict, verifyPermit } from "./verify-permit.ts"
