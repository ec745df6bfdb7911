/** A stored bundle as it is served. */
import type { BundleAddition } from "@runseal/core/wire/run-summaries"
import type { Deps } from "../../deps.ts"

/** With what outside logs hold of it by now, and with what it was asked for with. @param sealed the stored text */
export async function shownBundle(
  { showOutside, showWitnessed }: Pick<Deps, "showOutside" | "showWitnessed">,
  sealed: string,
  addition: BundleAddition | undefined,
): Promise<string> {
  const [text = sealed] = await showOutside([sealed])
  return addition === undefined ? text : showWitnessed(text)
}
