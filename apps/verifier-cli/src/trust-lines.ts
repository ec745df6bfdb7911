/** Texts about trust: the keys of a trust document, what pinning means, how to pin. */
import { SAME_ADDRESS, UNVOUCHED } from "@runseal/core/presentation/advice"
import { TRUST_PATH, trustRows } from "@runseal/core/presentation/trust-rows"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type Line, paragraph, type Span } from "./print.ts"

const LABEL_WIDTH = 13
const row = (label: string, ...value: readonly Span[]): Line => [`  ${label.padEnd(LABEL_WIDTH)}`, ...value]
const strong = (text: string): Span => ({ text, tone: "strong" })

/** Service, log and the fingerprints of all keys. */
export const trustLines = (keys: TrustedKeys): readonly Line[] =>
  trustRows(keys).flatMap(({ label, value, detail }) => [
    row(label, label === "service" ? strong(value) : value),
    ...(detail === undefined ? [] : [row("", { text: detail, tone: "quiet" })]),
  ])

/** Why keys are compared, and with what. */
export const COMPARE: readonly Line[] = [
  ["A forged trust document names the forger's keys, so compare the fingerprints with those that the service gives"],
  ["elsewhere: in a contract, in its repository or on the phone."],
]

/** The effect of a pin, and its value. */
export const PINNING_MEANS: readonly Line[] = [
  ["From now on a record sealed with these keys is verified as this service's, for your account on this machine."],
  ...COMPARE,
  ["To undo it: verifier trust remove SERVICE"],
]

/** How to pin a service, printed when no trusted key vouches for a record. */
export const HOW_TO_PIN: readonly Line[] = [
  ...paragraph(`${UNVOUCHED} To verify it:`),
  ["  1. Take the address of the service from a contract or its documentation, not from the record."],
  ["  2. ", strong(`verifier trust add https://SERVICE${TRUST_PATH}`)],
  ["     or, for one verification: save that document to a file and add --trust FILE."],
  ["  3. Compare the fingerprints it shows with those the service gives elsewhere."],
  ...paragraph(`${SAME_ADDRESS} Therefore the verifier never fetches a trust document by itself.`),
]
