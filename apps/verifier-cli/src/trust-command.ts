/** `verifier trust show | add | list | remove`. */
import { TRUST_PATH } from "@runseal/core/presentation/trust-rows"

import type { Answer } from "./exit-answer.ts"
import { printed, refused } from "./exit-answer.ts"

import type { Line, Style } from "./print.ts"
import { isAddress, parseAddress, readInput } from "./read-input.ts"
import { COMPARE, PINNING_MEANS, trustLines } from "./trust-lines.ts"
import type { PinResult } from "./trust-store.ts"
import { parseTrustFile, pin, readPinned, TRUST_LIMITS, unpin } from "./trust-store.ts"

/** The address of a trust document; that of a bare host is its well-known one. */
function trustAddress(argument: string): string {
  if (!isAddress(argument)) return argument
  const url = parseAddress(argument)
  return url.pathname === "/" ? new URL(TRUST_PATH, url).href : url.href
}

/** Shows the keys of a trust document from a file, `-` or an address, and pins nothing: they can be compared first. Throws InputError. */
export async function showTrust(argument: string, style: Style): Promise<Answer> {
  const source = trustAddress(argument)
  const { keys } = parseTrustFile(await readInput(source, TRUST_LIMITS), source)
  return printed([["Not pinned by this command:"], ...trustLines(keys), [], ...COMPARE], style)
}

/** Pins a trust document from a file, `-` or an address. Throws InputError. */
export async function addTrust(argument: string, replace: boolean, folder: string, style: Style): Promise<Answer> {
  const source = trustAddress(argument)
  const document = parseTrustFile(await readInput(source, TRUST_LIMITS), source)
  const outcome = pin(folder, document, replace)
  if (outcome.result === "conflict") {
    const lines: readonly Line[] = [
      ["Pinned:"],
      ...trustLines(outcome.pinned.keys),
      [],
      ["Offered:"],
      ...trustLines(document.keys),
      [],
    ]
    const message =
      "another trust document of this service is pinned and was not replaced: compare the two, then add --replace."
    return { ...printed(lines, style, 1), stderr: refused(message, style).stderr }
  }
  return printed([[SENTENCES[outcome.result]], ...trustLines(document.keys), [], ...PINNING_MEANS], style)
}

const SENTENCES: Readonly<Record<Exclude<PinResult["result"], "conflict">, string>> = {
  pinned: "Pinned:",
  already_pinned: "Pinned already:",
  replaced: "Pinned in place of the earlier document:",
}

/** Everything that is pinned. Throws InputError. */
export function listTrust(folder: string, style: Style): Answer {
  const pinned = readPinned(folder)
  if (pinned.length === 0) return printed([["No trust document is pinned. See: verifier trust add --help"]], style)
  const lines = pinned.flatMap(({ keys, path }, index): readonly Line[] => [
    ...(index === 0 ? [] : [[]]),
    ...trustLines(keys),
    [{ text: `  ${path}`, tone: "quiet" }],
  ])
  return printed(lines, style)
}

/** Forgets a service. Throws InputError. */
export function removeTrust(service: string, folder: string, style: Style): Answer {
  if (!unpin(folder, service)) return refused("no service of that name is pinned: see verifier trust list.", style, 1)
  return printed([["Removed. Records of this service no longer verify for you."]], style)
}
