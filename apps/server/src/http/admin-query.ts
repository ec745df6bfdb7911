/** Lists that are paged by a key of their rows. */

/** `next` of a full page: there may be more. @param placeOf where the page after a row begins */
export function nextOf<Row, Next>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => Next,
): { readonly next?: Next } {
  const last = rows.length === limit ? rows.at(-1) : undefined
  return last === undefined ? {} : { next: placeOf(last) }
}
