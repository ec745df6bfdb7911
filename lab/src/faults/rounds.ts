/** Size and seed of the suite, both from variables, so that a failure can be reproduced. */
import { createHash } from "node:crypto"

/** Kills under load with `npm run faults`; the other faults follow in proportion. `npm run test:faults` runs a small part. */
export const ROUNDS: number = Number(process.env.FAULT_ROUNDS ?? 2)
export const SEED: number = Number(process.env.FAULT_SEED ?? 1)

/** Whether everything runs: `npm run test:faults` leaves out slow cases, and those that it runs on the other database. */
export const WHOLE: boolean = ROUNDS >= 20

/** A part of the rounds, at least one. */
export const roundsOf = (part: number): number => Math.max(1, Math.round(ROUNDS * part))

/** A number from 0 up to, not including, 1: the same for the same seed, name and round, whatever else was drawn. */
export function drawn(name: string, round: number): number {
  return createHash("sha256").update(`${SEED} ${name} ${round}`).digest().readUInt32BE() / 2 ** 32
}
