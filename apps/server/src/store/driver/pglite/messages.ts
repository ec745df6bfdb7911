/** What the main thread and the PGlite thread say to each other. */

/** Where the thread's database is. */
export type PgliteStart =
  /** In memory; `template` is a tar file of a data folder to begin with. */
  | { readonly kind: "memory"; readonly template: Uint8Array<ArrayBuffer> | undefined }
  /** In a cluster folder of this machine; an empty folder becomes a cluster. */
  | { readonly kind: "folder"; readonly clusterDir: string }

/** Each request but "close" has exactly one reply, in order; the thread ends after "close" and after "failed". */
export type PgliteRequest =
  /** Whole frontend messages of the PostgreSQL protocol. */
  | { readonly kind: "frontend"; readonly bytes: Uint8Array }
  /** Asks for the data folder as a tar file. */
  | { readonly kind: "dump" }
  | { readonly kind: "close" }

export type PgliteReply =
  /** Sent once, before any request is answered. */
  | { readonly kind: "ready" }
  /** The backend's whole answer to one "frontend" request; may be empty. */
  | { readonly kind: "backend"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "dumped"; readonly tar: Uint8Array }
  /** The database cannot go on; whether what was asked last took effect is not known. */
  | { readonly kind: "failed"; readonly reason: string }
