/** What the main thread and the PGlite thread say to each other. */

/** Where the thread's database is. */
export type PgliteStart =
  /** In memory; `template` is a tar file of a data folder to begin with. */
  | { readonly kind: "memory"; readonly template: Uint8Array<ArrayBuffer> }
  /** In a cluster folder of this machine; an empty folder becomes a cluster. */
  | { readonly kind: "folder"; readonly clusterDir: string }
  /** Makes a cluster in an empty folder, always of the same bytes. */
  | { readonly kind: "template"; readonly clusterDir: string }

/** "open" comes first. Each request but "close" has exactly one reply, in order; the thread ends after "close" and after "failed". */
export type PgliteRequest =
  | { readonly kind: "open"; readonly start: PgliteStart }
  /** Whole frontend messages of the PostgreSQL protocol. */
  | { readonly kind: "frontend"; readonly bytes: Uint8Array }
  | { readonly kind: "close" }

export type PgliteReply =
  /** The database is open. */
  | { readonly kind: "ready" }
  /** The backend's whole answer to one "frontend" request; may be empty. */
  | { readonly kind: "backend"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** The database cannot go on; whether what was asked last took effect is not known. */
  | { readonly kind: "failed"; readonly reason: string }
