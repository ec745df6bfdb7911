/** `npx drizzle-kit generate` writes the next migration from the schema; the server applies it at start. */
import { defineConfig } from "drizzle-kit"

export default defineConfig({
  dialect: "postgresql",
  schema: "./src/store/tables/!(*.test).ts",
  out: "./src/store/migrations",
})
