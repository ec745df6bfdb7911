/** How the service signs a permit. */
import { SignJWT } from "jose"
import { PERMIT_ALGORITHM, PERMIT_TYPE, type PermitClaims } from "./permit-claims.ts"

/** A P-256 private key: Node's KeyObject, a CryptoKey or a JWK. */
export type PermitSigningKey = Parameters<SignJWT["sign"]>[0]

/**
 * The permit: a compact JWS (RFC 7515 §3.1). Signing the same claims again gives another text that is as valid.
 * @param kid id of the service key, which the JWKS document lists
 */
export const signPermit = (claims: PermitClaims, privateKey: PermitSigningKey, kid: string): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: PERMIT_ALGORITHM, typ: PERMIT_TYPE, kid }).sign(privateKey)
