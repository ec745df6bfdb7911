/** `npx drizzle-kit generate` writes the next migration from the schema; the server applies it at start. */
import { defineConfig } from "drizzle-kit"

export default defineConfig({
  dialect: "postgresql",
  schema: [
    "./src/store/schema.ts",
    "./src/store/access-schema.ts",
    "./src/store/outside-schema.ts",
    "./src/store/heads-schema.ts",
  ],
  out: "./src/store/migrations",
})
