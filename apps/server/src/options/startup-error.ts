/** A reason not to start, in one sentence for the operator. To refuse a start is safer than to sign with a wrong key. */
export class StartupError extends Error {
  override readonly name = "StartupError"
}

/** Whether the operating system refused a call: no such file, no permission, no space. */
export const isSystemError = (error: unknown): boolean => error instanceof Error && "syscall" in error

/** Thrown where a start has no more file descriptors; undefined for every other error. */
export const ofDescriptors = (cause: unknown): StartupError | undefined =>
  cause instanceof Error && "code" in cause && (cause.code === "EMFILE" || cause.code === "ENFILE")
    ? new StartupError(
        "No file descriptor is left: raise the limit of this user (ulimit -n, LimitNOFILE of a unit) or of the machine, and start again.",
        { cause },
      )
    : undefined

/** Whether the disk, or this user's quota on it, is full. */
export const isFullDisk = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT")
