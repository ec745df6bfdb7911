/** Checks of signatures: Node's own code where there is Node, and portable code elsewhere. What is malformed is not valid; nothing throws. */
export { digest, verifyEcdsaP256, verifyEd25519, verifySignature } from "#signatures"
