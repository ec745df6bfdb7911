/** What the verifier says about trust: whom a document names, what pinning means, how to do it. */
import { SAME_ADDRESS, UNVOUCHED } from "@runseal/core/presentation/advice"
import { TRUST_PATH, trustRows } from "@runseal/core/presentation/trust-rows"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { paragraph } from "./paragraph.ts"
import type { Line, Span } from "./print.ts"

const LABEL_WIDTH = 13
const row = (label: string, ...value: readonly Span[]): Line => [`  ${label.padEnd(LABEL_WIDTH)}`, ...value]
const strong = (text: string): Span => ({ text, tone: "strong" })

/** Service, log and the fingerprints of all keys. */
export const trustLines = (keys: TrustedKeys): readonly Line[] =>
  trustRows(keys).flatMap(({ label, value, detail }) => [
    row(label, label === "service" ? strong(value) : value),
    ...(detail === undefined ? [] : [row("", { text: detail, tone: "quiet" })]),
  ])

/** What a pin does and what it is worth. */
export const PINNING_MEANS: readonly Line[] = [
  ["From now on a record sealed with these keys is verified as this service's, for your account on this machine."],
  ["That is worth as much as the way the document came to you: compare the fingerprints with those the service gives"],
  ["elsewhere, in a contract, in its repository or by voice. Whoever sent you a forged document chose its keys."],
  ["To undo it: verifier trust remove SERVICE"],
]

/** How to come to trust a service, said when nothing the user trusts vouches for a record. */
export const HOW_TO_PIN: readonly Line[] = [
  ...paragraph(`${UNVOUCHED} To verify it:`),
  ["  1. Take the address of the service from where you know it (contract, documentation), not from the record."],
  ["  2. ", strong(`verifier trust add https://SERVICE${TRUST_PATH}`)],
  ["     or, for this one time: verifier --trust FILE … with that document saved to a file."],
  ["  3. Compare the fingerprints it shows with those the service gives elsewhere."],
  ...paragraph(`${SAME_ADDRESS} That is why the verifier fetches none by itself.`),
]
