/**
 * Gives PGlite its fsync back. PGlite starts PostgreSQL with `-F` (fsync off) and its file layer has no fsync at all; here
 * PostgreSQL runs with fsync on and its own calls reach the disk. So PostgreSQL's promise holds, on its terms: the WAL of
 * a commit is on disk before the commit is acknowledged, and a checkpoint syncs every data file it wrote, and the folders
 * of new files, before it recycles the WAL that could restore them. Full page writes and checksums stay on.
 *
 * What this does not promise: anything a disk that ignores flushes loses, and network file systems. A failed sync is final:
 * it is reported through `failed` and the caller must not acknowledge anything more (the kernel may have dropped the pages).
 */
import { fdatasyncSync, fsyncSync } from "node:fs"
import { PGlite } from "@electric-sql/pglite"
import type { Filesystem } from "@electric-sql/pglite/basefs"
import { NodeFS } from "@electric-sql/pglite/nodefs"

/** Files that the database has open at once; it closes the one that was used least recently for another. */
export const MAX_OPEN_FILES = 150

/**
 * PGlite's own flags but `-F`. `wal_sync_method=fsync`: of the sync calls only fsync reaches the file layer; fdatasync, the
 * usual choice, is a silent no-op there.
 */
export const DURABLE_START_PARAMS: readonly string[] = [
  ...PGlite.defaultStartParams.filter(parameter => parameter !== "-F"),
  "-c",
  "fsync=on",
  "-c",
  "wal_sync_method=fsync",
  "-c",
  `max_files_per_process=${MAX_OPEN_FILES}`,
]

export type SyncWatch = {
  /** After each sync of a file or folder; `path` is absolute in PGlite's own tree. */
  readonly synced: (path: string) => void
  readonly failed: (error: unknown) => void
}

/** errno EIO in the numbering of WASI, which Emscripten's fsync returns. */
const EIO = 29

const WAL_SEGMENT = /\/pg_wal\/[0-9A-F]{24}$/

/** Whether a path is a WAL segment. */
export const isWalSegment = (path: string): boolean => WAL_SEGMENT.test(path)

type OpenFile = { readonly path: string; readonly nfd: number }

/** PGlite's file layer over a folder of this machine, with syncs. */
export function durableFiles(clusterDir: string, watch: SyncWatch): Filesystem {
  const files = new NodeFS(clusterDir)
  const fsync = ({ path, nfd }: OpenFile): number => {
    try {
      // Of a WAL segment only the data is needed; a new size comes with it.
      if (isWalSegment(path)) fdatasyncSync(nfd)
      else fsyncSync(nfd)
      watch.synced(path)
      return 0
    } catch (error) {
      watch.failed(error)
      return EIO
    }
  }
  const init: Filesystem["init"] = files.init.bind(files)
  files.init = async (pglite, options) => {
    const { emscriptenOpts } = await init(pglite, options)
    const addFsync: NonNullable<typeof options.preRun>[number] = module => {
      Object.assign(module.NODEFS.stream_ops, { fsync })
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [addFsync, ...(emscriptenOpts.preRun ?? [])] } }
  }
  return files
}
