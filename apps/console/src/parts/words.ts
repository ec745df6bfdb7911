/** Where a name may be broken into lines, on the server and in islands alike. */

/** A name ends a word with one of these; a word without an end is broken after 24 characters. */
const WORD = /.{1,24}?(?:[-/_.:@\s]+|$)|.{24}/gsu

/** The words of a name such as `mcp/filesystem/read_text_file`, each with the sign behind it; together they are the name. */
export const wordsOf = (name: string): readonly string[] => name.match(WORD) ?? []
