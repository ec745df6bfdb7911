/** A reason not to start, in one sentence for the operator. To refuse a start is safer than to sign with a wrong key. */
export class StartupError extends Error {
  override readonly name = "StartupError"
}

/** Whether the operating system refused a call: no such file, no permission, no space. */
export const isSystemError = (error: unknown): boolean => error instanceof Error && "syscall" in error

/** Whether the disk, or this user's quota on it, is full. */
export const isFullDisk = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT")
