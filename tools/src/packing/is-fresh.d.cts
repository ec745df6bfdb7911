/** SHA-256 over the contents and names of files, in hex. @param paths from the folder */
export declare function digestOfAll(folder: string, paths: readonly string[]): string
/** Whether what was built is what a stamp says, of the sources that it says. @param stamp path of a `sources.json` */
export declare function isFresh(stamp: string): boolean
