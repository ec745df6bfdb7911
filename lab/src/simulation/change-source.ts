/**
 * Loaded before everything else (`node --import`): changes the source of some modules as they are loaded, so that a test
 * can plant a fault in the real code and show that the simulation finds it.
 */
import { registerHooks } from "node:module"

/** A piece of a module's source and its replacement. */
export type SourceChange = { readonly file: string; readonly from: string; readonly to: string }

/** Variable with the changes, as JSON, for a process that loads this module. */
export const CHANGES_VARIABLE = "SIMULATION_CHANGES"

/** Exit status of a process in which a change does not apply, because the source has changed. */
export const DOES_NOT_APPLY = 3

const changes: readonly SourceChange[] = JSON.parse(process.env[CHANGES_VARIABLE] ?? "[]")

if (changes.length > 0) {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      const mine = changes.filter(({ file }) => url.endsWith(`/apps/server/src/${file}`))
      if (mine.length === 0) return loaded
      let source = String(loaded.source)
      for (const { from, to } of mine) {
        if (!source.includes(from)) {
          process.stderr.write(`${url} does not hold: ${from}\n`)
          process.exit(DOES_NOT_APPLY)
        }
        source = source.replaceAll(from, to)
      }
      return { ...loaded, source }
    },
  })
}
