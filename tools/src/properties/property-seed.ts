/**
 * The seed of every property test, from the variable PROPERTY_SEED: an integer, or `random` for a new one each time. Without it the seed is
 * fixed, so that a test that fails once fails again with the same code.
 */
import fc from "fast-check"

const FIXED_SEED = 20_260_401
const given = process.env.PROPERTY_SEED

if (given !== "random") {
  fc.configureGlobal({
    ...fc.readConfigureGlobal(),
    seed: given === undefined ? FIXED_SEED : Number.parseInt(given, 10),
  })
}
