/** `verifier <document>`: reads what the command line names and verifies it. */
import type { TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import type { Answer } from "./answer.ts"
import { InputError } from "./input-error.ts"
import type { Style } from "./print.ts"
import { isAddress, readFile, readInput } from "./read-input.ts"
import { parseTrustFile, readPinned, TRUST_LIMITS } from "./trust-store.ts"
import type { VerifyFlags } from "./verify-text.ts"
import { verifyInput } from "./verify-text.ts"

/** Verifies the document behind the argument with the keys of `trustFiles`, or with the pinned ones. Throws InputError. */
export async function verifyCommand(
  argument: string,
  trustFiles: readonly string[],
  folder: () => string,
  flags: VerifyFlags,
  style: Style,
): Promise<Answer> {
  const trusts = trustFiles.length === 0 ? readPinned(folder()).map(({ keys }) => keys) : await readTrusts(trustFiles)
  return verifyInput(await readInput(argument), trusts, flags, style)
}

/** Keys from files alone: what a document is verified with never comes over the network in the same breath. */
async function readTrusts(paths: readonly string[]): Promise<readonly TrustedKeys[]> {
  const trusts: TrustedKeys[] = []
  for (const path of paths) {
    if (isAddress(path)) throw new InputError("--trust takes a file; to pin from an address use verifier trust add.")
    trusts.push(parseTrustFile(await readFile(path, TRUST_LIMITS), path).keys)
  }
  return trusts
}
