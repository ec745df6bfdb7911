/** Release of this package; equal to the one in package.json. */
export const VERSION = "1.0.0"
