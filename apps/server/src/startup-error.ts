/** A reason not to start, in one sentence for the operator. Refusing to start beats signing with a wrong key. */
export class StartupError extends Error {
  override readonly name = "StartupError"
}
