/** `verifier expand` and `verifier withhold`: a record in full, and a record without the content of some sections. Both verify it first. */
import { lstatSync } from "node:fs"
import { basename, dirname } from "node:path"
import { canonicalize, utf8Encode } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { WITHHOLDABLE_NAMES, type WithholdableName } from "@runseal/core/artifacts/declared-sections"
import { reduce, withholdSections } from "@runseal/core/derivation/derive"
import { NOT_TRUSTED } from "@runseal/core/presentation/advice"
import { bundleOf, isUnreadable } from "@runseal/core/verify/document"
import { firstFault, isUntrusted } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type Answer, InputError, refused } from "./exit-answer.ts"
import { writeNewFiles } from "./export-folder.ts"
import type { Style } from "./print.ts"
import { readInput } from "./read-input.ts"
import { noted, unmetBeside, verifyAny } from "./verify-any.ts"

export type FormFlags = {
  /** Where the record goes; standard output without it. */
  readonly out?: string
  /** Whether a file of that name is replaced. */
  readonly force: boolean
}

/** The full form of a record. Throws InputError. */
export const expandRecord = (
  argument: string,
  flags: FormFlags,
  trusts: readonly TrustedKeys[],
  style: Style,
): Promise<Answer> => writtenAs(argument, canonicalize, flags, trusts, style)

/** The sealed form of a record without the content of these sections. Throws InputError. */
export async function withholdFromRecord(
  argument: string,
  names: readonly string[],
  flags: FormFlags,
  trusts: readonly TrustedKeys[],
  style: Style,
): Promise<Answer> {
  const sections = names.map(withholdableName)
  const sealed = (record: Bundle): string => canonicalize(reduce(withholdSections(record, sections)))
  return await writtenAs(argument, sealed, flags, trusts, style)
}

function withholdableName(word: string): WithholdableName {
  const name = WITHHOLDABLE_NAMES.find(known => known === word)
  if (name !== undefined) return name
  throw new InputError(`${word} is no section that can be withheld: these are ${WITHHOLDABLE_NAMES.join(", ")}.`)
}

/**
 * Writes a record in another form. What FAILED is not written: another form of it could lack just what was changed. No trusted key is
 * needed, since no form says whose record it is.
 */
async function writtenAs(
  argument: string,
  form: (record: Bundle) => string,
  { out, force }: FormFlags,
  trusts: readonly TrustedKeys[],
  style: Style,
): Promise<Answer> {
  const verified = await verifyAny(await readInput(argument), trusts)
  const { report, record } = verified
  if (isUnreadable(report)) return refused(`this cannot be verified: ${report.unreadable}`, style)
  const bundle = bundleOf(record)
  if (bundle === undefined) return refused("this has one form alone: only an audit bundle has two.", style)
  const fault = firstFault(report) ?? unmetBeside(verified)
  if (fault !== undefined)
    return refused(`nothing was written: FAILED, first failed check, ${fault.id}: ${fault.message}`, style, 1)
  const text = form(bundle)
  if (out !== undefined && force) refuseDevice(out)
  if (out !== undefined) writeNewFiles(dirname(out), [{ name: basename(out), bytes: utf8Encode(text) }], force)
  const verdict = isUntrusted(report) ? NOT_TRUSTED : report.verdict
  const { stderr } = refused(`run ${bundle.run.run_id}, before it was written: ${verdict}`, style, 0)
  return noted({ stdout: out === undefined ? text : "", stderr, exit: 0 }, verified, style)
}

/** What is replaced is deleted first: a file may be, a device, a folder or a link such as /dev/stdout may not. Throws InputError. */
function refuseDevice(path: string): void {
  if (!isPlainOrAbsent(path)) throw new InputError(`${path} is no plain file, and is not replaced.`)
}

function isPlainOrAbsent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? true
  } catch {
    return false
  }
}
