/** Shell completion and the manual page, made of the commands and options that Commander knows. */
import type { Command, Option } from "commander"

export const SHELLS = ["bash", "zsh", "fish"] as const
export type Shell = (typeof SHELLS)[number]

/** A command with the words before it, such as `log audit`. */
type NamedCommand = { readonly name: string; readonly command: Command }

/** Every command that takes options, the program itself last. */
function commandsOf(command: Command, name = ""): readonly NamedCommand[] {
  const below = command.commands.flatMap(sub => commandsOf(sub, `${name} ${sub.name()}`.trim()))
  return [...below, { name, command }]
}

/** What may follow the words of a command: commands below it, and the values that its argument can have. */
const wordsOf = (command: Command): readonly string[] => [
  ...command.commands.map(sub => sub.name()),
  ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
]

const optionsOf = (command: Command): readonly Option[] => command.options.filter(({ hidden }) => !hidden)

/** The script that a shell reads. */
export const completionScript = (program: Command, shell: Shell): string => SCRIPTS[shell](commandsOf(program))

const SCRIPTS: Readonly<Record<Shell, (commands: readonly NamedCommand[]) => string>> = {
  bash: bashScript,
  zsh: commands => `autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
  fish: fishScript,
}

/**
 * After the words of a command its own words are offered, after an option with closed values these, and file names in any case. zsh runs
 * it too, and has a variable `words` itself.
 */
function bashScript(commands: readonly NamedCommand[]): string {
  const closed = commands.flatMap(({ command }) => optionsOf(command).filter(({ argChoices }) => argChoices))
  const values = closed.map(({ long, argChoices = [] }) => `    ${long}) offered="${argChoices.join(" ")}" ;;`)
  const cases = commands.map(({ name, command }) => {
    const words = [...wordsOf(command), ...optionsOf(command).map(({ long }) => long)].join(" ")
    return `    ${name === "" ? "*" : `*" ${name} "*`}) offered="${words}" ;;`
  })
  return [
    "_verifier() {",
    "  local offered",
    '  case " $' + '{COMP_WORDS[*]:1:$((COMP_CWORD-1))} " in',
    ...cases,
    "  esac",
    '  case "$' + '{COMP_WORDS[COMP_CWORD-1]}" in',
    ...values,
    "  esac",
    '  COMPREPLY=($(compgen -W "$offered" -- "$' + '{COMP_WORDS[COMP_CWORD]}"))',
    "}",
    "complete -o default -F _verifier verifier",
    "",
  ].join("\n")
}

function fishScript(commands: readonly NamedCommand[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`
  const words = commands.flatMap(({ name }) => (name === "" || name.includes(" ") ? [] : [name]))
  const lines = commands.flatMap(({ name, command }) => {
    const last = name.split(" ").at(-1)
    // A document before them ends no list of the program's own options.
    const condition = last
      ? `'__fish_seen_subcommand_from ${last}'`
      : `'not __fish_seen_subcommand_from ${words.join(" ")}'`
    const start = `complete -c verifier -n ${condition}`
    return [
      ...command.commands.map(sub => `${start} -a ${sub.name()} -d ${quoted(sub.description())}`),
      ...command.registeredArguments.flatMap(({ argChoices }) =>
        argChoices ? [`${start} -f -a ${quoted(argChoices.join(" "))}`] : [],
      ),
      ...optionsOf(command).map(({ long, description, required, argChoices }) => {
        const value = argChoices ? ` -x -a ${quoted(argChoices.join(" "))}` : required ? " -r" : ""
        return `${start} -l ${long?.slice(2)}${value} -d ${quoted(description)}`
      }),
    ]
  })
  return `${lines.join("\n")}\n`
}

/** The manual page in the man macros of roff: the help of every command. */
export function manualPage(program: Command, version: string): string {
  const sections = commandsOf(program)
    .filter(({ command }) => command.commands.length === 0 || command === program)
    .toReversed()
    .flatMap(({ name, command }) => [`.SS verifier ${name}`.trim(), ".nf", escapeRoff(helpOf(command)), ".fi"])
  return [
    `.TH VERIFIER 1 "" "verifier ${version}"`,
    ".SH NAME",
    "verifier \\- verify records of a Runseal service offline",
    ".SH COMMANDS",
    ...sections,
    "",
  ].join("\n")
}

function helpOf(command: Command): string {
  let text = ""
  command.configureOutput({
    writeOut: part => {
      text += part
    },
  })
  command.outputHelp()
  return text.trim()
}

/** Text in which no line is a macro and no hyphen is a typographic one. */
const escapeRoff = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/gm, "\\&$1")
