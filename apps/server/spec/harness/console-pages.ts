/** Pages of the console as a test reads them without a browser. */

/** What a reader reads of markup. */
export const textOf = (markup: string): string =>
  markup
    .replaceAll("<wbr>", "")
    .replaceAll(/<script[\s\S]*?<\/script>|<[^>]+>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ([,:;.])/g, "$1")
    .trim()

/** The hidden fields of a form, as the browser sends them. */
export const hiddenFields = (markup: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...markup.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value ?? "",
    ]),
  )
