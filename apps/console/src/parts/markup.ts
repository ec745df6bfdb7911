/** Templates of the console's pages. */
import { escapeControls } from "@runseal/core/presentation/printable"
import { html as template } from "hono/html"

/** What a template gives: text in which every value is escaped. */
export type Markup = ReturnType<typeof template>

/** Line breaks and tabs stay: those of a policy's text are shown as such. */
const shown = (text: string): string => text.replace(/[^\n\r\t]+/g, escapeControls)

const shownIn = (value: unknown): unknown =>
  typeof value === "string" ? shown(value) : Array.isArray(value) ? value.map(shownIn) : value

/**
 * A template in which every value is escaped for HTML. Characters that reorder a line or cannot be seen are written as `\u{…}`: a caller
 * chooses the texts of its records, and must not make one name look like another.
 */
export const html = (parts: TemplateStringsArray, ...values: readonly unknown[]): Markup =>
  template(parts, ...values.map(shownIn))

/** A text as it is, in a field of a form: what is sent back must be what was there. */
export const verbatim = (text: string): Markup => template`${text}`
