/** What the operator is shown for a command line that cannot be parsed: never a value that was given, which may be a secret in the wrong place. */
import { nearestWord } from "@runseal/core/presentation/nearest-word"
import type { Command, CommanderError } from "commander"

/** One sentence. @param argv what was parsed; @param program with all options and commands */
export function commandLineError({ code, message }: CommanderError, argv: readonly string[], program: Command): string {
  const group = program.commands.find(one => argv.includes(one.name()))?.name() ?? ""
  const commands = commandsOf(program, group)
  const [, similar] = /\n\(Did you mean (.*)\?\)$/.exec(message) ?? []
  switch (code) {
    case "commander.help":
      return `${group} needs ${commands.includes(" ") ? "one of its commands" : "its command"} ${commands}`
    case "commander.unknownCommand":
      return `${group} has no such command${similar === undefined ? "; it" : `: did you mean ${similar}? It`} has ${commands}`
    case "commander.excessArguments":
      return excessWord(message, commandsOf(program))
    case "commander.unknownOption": {
      const [, option = ""] = /^error: unknown option '([^=\n']*)/.exec(message) ?? []
      // The parser compares a word with its value, as in --prot=80.
      const nearest =
        similar ??
        nearestWord(
          option,
          program.options.flatMap(({ long }) => long ?? []),
        )
      return `unknown option '${option}'${nearest === undefined ? "" : `: did you mean ${nearest}?`}`
    }
    default:
      return withoutValue(message)
  }
}

const LIST = new Intl.ListFormat("en-GB", { type: "conjunction" })
/** The names of the commands below a command, or of the first ones. */
const commandsOf = ({ commands }: Command, group?: string): string =>
  LIST.format(
    (group === undefined ? commands : (commands.find(one => one.name() === group)?.commands ?? [])).map(one =>
      one.name(),
    ),
  )

/** @param commands the first ones */
function excessWord(message: string, commands: string): string {
  const [, name] = /^error: too many arguments for '([\w-]+)'/.exec(message) ?? []
  return name === undefined
    ? `a further word was given: there are only options and the commands ${commands}`
    : `${name} takes no further word`
}

/** The parser quotes values in these places; the last quote ends the value. */
const withoutValue = (message: string): string =>
  message
    .replace(/^error: /, "")
    .replace(/^command-argument value '.*' is invalid for argument/s, "a word was given that is no value of")
    .replace(/^option '[^']*' value '.*' from env '(\w+)' is invalid/s, "$1 has a value that is not one of its choices")
    .replace(/ argument '.*' is invalid/s, " was given a value that is not one of its choices")
    .replace(/\n.*/s, "")
