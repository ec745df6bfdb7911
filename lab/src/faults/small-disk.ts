/** A disk so small that it can be filled: a tmpfs of its own, which only root may mount. It is really full when it is filled. */
import { spawnSync } from "node:child_process"
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export type SmallDisk = {
  readonly folder: string
  /** Takes all that is free, to the last byte, but for so many MiB. */
  readonly fill: (butMebibytes?: number) => void
  /** Gives back what was taken. */
  readonly free: () => void
  readonly unmount: () => void
}

const CHUNKS_BYTES = [1_048_576, 4096, 1]

/** Mounts a disk, or says why this machine cannot. */
export function mountSmallDisk(mebibytes: number): SmallDisk | string {
  const folder = mkdtempSync(join(tmpdir(), "runseal-disk-"))
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "none", folder], { encoding: "utf8" })
  if (mounted.status !== 0) {
    rmSync(folder, { recursive: true })
    return "a disk that can be filled needs the right to mount one"
  }
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o777)
  const ballast = join(folder, "ballast")
  return {
    folder,
    fill: (butMebibytes = 0) => {
      const file = openSync(ballast, "a")
      const reserve = join(folder, "reserve")
      writeFileSync(reserve, Buffer.alloc(butMebibytes * CHUNKS_BYTES[0]!))
      for (const bytes of CHUNKS_BYTES) writeUntilFull(file, Buffer.alloc(bytes))
      closeSync(file)
      rmSync(reserve)
    },
    free: () => rmSync(ballast),
    unmount: () => {
      spawnSync("umount", ["-l", folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function writeUntilFull(file: number, chunk: Buffer): void {
  try {
    while (writeSync(file, chunk) > 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error
  }
}
