import { describe } from "vitest"
import { entryRules } from "./entry-rules.ts"
import * as library from "./library.ts"

describe("an entry, checked in Node", () => {
  entryRules(library)
})
