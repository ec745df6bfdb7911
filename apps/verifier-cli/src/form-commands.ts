/** The commands that show or write what a document holds in another form. */
import { WITHHOLDABLE_NAMES } from "@runseal/core/artifacts/declared-sections"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type Command, Option } from "commander"
import type { ApproveFlags } from "./approve-command.ts"
import type { Answer } from "./exit-answer.ts"
import { FORM_HELP } from "./help-texts.ts"
import type { Style } from "./print.ts"
import type { FormFlags } from "./record-forms.ts"

/** Adds `expand` and `withhold`. @param trusts of the program's own options; throws InputError where others are given */
export function formCommands(
  program: Command,
  trusts: (command: string) => Promise<readonly TrustedKeys[]>,
  style: Style,
  setAnswer: (answer: Answer) => void,
): void {
  formCommand(program, "expand", "write a record in full: with every section that follows from what is sealed").action(
    async (argument: string, flags: FormFlags) => {
      const { expandRecord } = await import("./record-forms.ts")
      setAnswer(await expandRecord(argument, flags, await trusts("expand"), style))
    },
  )
  formCommand(program, "withhold", "write a record without the content of some sections: it still verifies")
    .addOption(
      new Option(
        "--section <name>",
        `${WITHHOLDABLE_NAMES.slice(0, -1).join(", ")} or ${WITHHOLDABLE_NAMES.at(-1)} (repeatable)`,
      )
        .choices(WITHHOLDABLE_NAMES)
        .argParser((name: string, before: readonly string[] = []) => [...before, name])
        .makeOptionMandatory(),
    )
    .action(async (argument: string, { section, ...flags }: FormFlags & { readonly section: readonly string[] }) => {
      const { withholdFromRecord } = await import("./record-forms.ts")
      setAnswer(await withholdFromRecord(argument, section, flags, await trusts("withhold"), style))
    })
}

/** Adds `approve`. @param trusts as above */
export function approveCommands(
  program: Command,
  trusts: (command: string) => Promise<readonly TrustedKeys[]>,
  style: Style,
  setAnswer: (answer: Answer) => void,
): void {
  program
    .command("approve")
    .description("show what a request asks a person to approve, before a decision")
    .argument("<answer>", "the saved answer of GET /approvals/{id}: a file, or - for standard input")
    .option("--offline", "required: nothing is sent, and no decision is made")
    .option("--issuer <issuer>", "who is to sign: the identity provider of this person")
    .option("--subject <subject>", "who is to sign: whom the identity provider names so")
    .addHelpText("after", FORM_HELP.approve)
    .action(async (argument: string, flags: ApproveFlags) => {
      const { approveCommand } = await import("./approve-command.ts")
      setAnswer(await approveCommand(argument, flags, await trusts("approve"), style))
    })
}

/** What expand and withhold have in common. */
const formCommand = (program: Command, name: "expand" | "withhold", description: string): Command =>
  program
    .command(name)
    .description(description)
    .argument("<document>", "an audit bundle or a report: a file, - for standard input, or an https address")
    .option("--out <file>", "write to this file instead of standard output")
    .option("--force", "overwrite a file of the same name", false)
    .addHelpText("after", FORM_HELP[name])
