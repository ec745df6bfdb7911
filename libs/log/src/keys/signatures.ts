/** Signature checks: Node's own code in Node, portable code elsewhere. A malformed signature or key is not valid; nothing throws. */
export { digest, verifyEcdsaP256, verifyEd25519, verifySignature } from "#signatures"
