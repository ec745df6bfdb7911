/** The unit of the bench: one ECDSA P-256 verification on one core. What is measured in it can be compared between machines and days. */
import { generateKeyPairSync, sign, verify } from "node:crypto"
import { median } from "./page.ts"

/** Verifications of one count: some 3 ms. */
const CALLS = 40
const COUNTS = 9

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const message = Buffer.alloc(500, 7)
const signature = sign("sha256", message, privateKey)

export const verifyOnce = (): void => {
  if (!verify("sha256", message, publicKey, signature)) throw new Error("A signature did not verify.")
}

/** Microseconds of processor time a call, of all threads of this process. */
export function microsOf(calls: number, run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}

/** Microseconds of one verification now: the median of a few counts. */
export const verificationMicros = (): number =>
  median(
    Array.from({ length: COUNTS }, () =>
      microsOf(CALLS, () => {
        for (let call = 0; call < CALLS; call++) verifyOnce()
      }),
    ),
  )
