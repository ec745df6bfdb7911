/** A reason not to start, in one sentence for the operator. Refusing to start beats signing with a wrong key. */
export class StartupError extends Error {
  override readonly name = "StartupError"
}

/** Whether the system refused a call: no such file, no right, no space. Such an error has words no operator should need. */
export const isSystemError = (error: unknown): boolean => error instanceof Error && "syscall" in error

/** Whether the disk, or the share of it that this user may have, is used up. */
export const isFullDisk = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT")
