import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const propertySeed = fileURLToPath(new URL("tools/src/properties/property-seed.ts", import.meta.url))

const project = (name: string, root: string, testTimeout = 30_000): object => ({
  test: {
    name,
    root,
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "spec/**/*.test.ts"],
    testTimeout,
    hookTimeout: 60_000,
    setupFiles: [propertySeed],
  },
})

export default defineConfig({
  test: {
    projects: [
      project("canonical", "libs/canonical"),
      project("core", "libs/core"),
      project("sdk", "libs/sdk"),
      project("verifier-cli", "apps/verifier-cli"),
      project("server", "apps/server", 120_000),
      project("tools", "tools"),
    ],
  },
})
