/** One option of the server: its documentation, and the schema that parses its text. */
import * as v from "valibot"

/** The documentation of an option. */
export type OptionText = {
  /** The flag and a name for its value: the unit, where it has one. */
  readonly flag: string
  /** In Markdown, for the table of docs/operations.md; `--help` shows it as plain text. */
  readonly help: string
  /** The default in words, where it is no fixed value. */
  readonly otherwise?: string
  readonly choices?: readonly string[]
  /** May be given several times; its variable holds the values with spaces between them. */
  readonly repeatable?: true
  /** An action, done once: it has no variable, because a variable would stay set. */
  readonly once?: true
}

/** One row: the documentation of an option, and the schema that parses its text. */
export const option = <Schema extends v.GenericSchema<string | undefined, unknown>>(
  flag: string,
  help: string,
  schema: Schema,
  notes: Omit<OptionText, "flag" | "help"> = {},
) => v.pipe(schema, v.metadata<v.InferOutput<Schema>, OptionText>({ flag, help, ...notes }))
