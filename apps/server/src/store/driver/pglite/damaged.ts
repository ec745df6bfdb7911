/** What the operator is told of an embedded database whose files cannot be what it wrote. */
export const damaged = (dataDir: string): string =>
  `The embedded database cannot be opened: the files in ${dataDir} are damaged or not all there; restore that folder from your backup.`
